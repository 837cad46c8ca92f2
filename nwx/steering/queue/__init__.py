"""The protocol of the crawler's queue, and how updates are delivered to one."""
