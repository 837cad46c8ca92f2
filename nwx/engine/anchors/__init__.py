"""Anchor texts of the links to captured URLs, as searches look at them; for all engines."""
