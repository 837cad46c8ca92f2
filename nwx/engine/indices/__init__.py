"""The indices of an archive, each declared once, and the store for small entries."""
