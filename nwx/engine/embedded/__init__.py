"""The embedded engine: an archive in a folder, tantivy and SQLite."""

from pathlib import Path

from nwx.bulk.progress import ShowProgress
from nwx.engine.embedded.engine import EmbeddedEngine
from nwx.settings import Settings

__all__ = ["EmbeddedEngine", "open_engine"]


def open_engine(settings: Settings, *, read_only: bool, progress: ShowProgress) -> EmbeddedEngine:
    """Return the archive in the folder `settings.engine`."""
    path, ranking = Path(settings.engine), settings.ranking
    return EmbeddedEngine(path, read_only=read_only, ranking=ranking, progress=progress)
