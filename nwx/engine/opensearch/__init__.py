"""The OpenSearch engine: an archive in the indices of a server."""

from importlib import import_module

from nwx.bulk.progress import ShowProgress
from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.settings import Settings

__all__ = ["open_engine"]


def open_engine(settings: Settings, *, read_only: bool, progress: ShowProgress) -> Engine:
    """Return the archive on the server at `settings.engine`; the server grants write access.

    Raises UsageError if the client package is not installed.
    """
    try:
        module = import_module("nwx.engine.opensearch.server")
    except ModuleNotFoundError as error:
        if error.name != "opensearchpy":
            raise
        raise UsageError(
            f"--engine {settings.engine.partition('://')[0]}://… needs the package "
            "opensearch-py; install nwx[opensearch]"
        ) from error
    engine: Engine = module.OpenSearchEngine(settings.engine, settings.server, settings.ranking)
    return engine
