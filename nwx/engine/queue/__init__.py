"""The queue of a crawler, and the outbox of what is to be sent to one."""
