"""Answers of the public API: lazy tables of what an archive holds, and how notebooks show them."""
