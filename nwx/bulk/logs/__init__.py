"""Logs that others write and rotate, followed line by line."""
