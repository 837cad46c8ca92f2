"""The indices of an archive, each declared once, and the store of those with small entries."""
