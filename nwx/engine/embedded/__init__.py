"""The embedded engine: an archive in a folder, tantivy and SQLite."""

from nwx.engine.embedded.engine import EmbeddedEngine

__all__ = ["EmbeddedEngine"]
