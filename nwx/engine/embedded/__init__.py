"""The embedded engine: an archive in a folder, tantivy and SQLite."""

from pathlib import Path

from nwx.engine.embedded.engine import EmbeddedEngine
from nwx.settings import Settings

__all__ = ["EmbeddedEngine", "open_engine"]


def open_engine(settings: Settings, *, read_only: bool) -> EmbeddedEngine:
    """Return the archive in the folder `settings.engine`."""
    return EmbeddedEngine(Path(settings.engine), read_only=read_only, ranking=settings.ranking)
