"""The queue of a crawler and the outbox in an index, `<prefix>-queue`."""
