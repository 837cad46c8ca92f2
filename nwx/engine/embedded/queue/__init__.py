"""The queue of a crawler and the outbox in a file of their own, `queue.db`."""
