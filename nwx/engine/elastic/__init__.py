"""The Elasticsearch engine: an archive in the indices of a server."""

from nwx.bulk.progress import ShowProgress
from nwx.engine.elastic.server import ElasticEngine
from nwx.settings import Settings

__all__ = ["ElasticEngine", "open_engine"]


def open_engine(settings: Settings, *, read_only: bool, progress: ShowProgress) -> ElasticEngine:
    """Return the archive on the server at `settings.engine`; the server says who may write."""
    return ElasticEngine(settings.engine, settings.server, settings.ranking)
