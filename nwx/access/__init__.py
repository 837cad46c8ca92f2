"""The archive as a viewer may see it."""
