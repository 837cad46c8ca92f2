"""From an address to an engine."""

from pathlib import Path

from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.settings import Settings


def is_server(address: str) -> bool:
    """Tell whether an address is a server's (http, https) and not a folder."""
    return address.startswith(("http://", "https://"))


def open_engine(settings: Settings, *, read_only: bool = False) -> Engine:
    """Return the engine at `settings.engine`: Elasticsearch at an http(s) address, else a folder.

    Close it after use. Raises EngineError where there is none, or none that
    can be used, UsageError for an address of another scheme.
    """
    if is_server(settings.engine):
        # Imported here so that one engine never loads the libraries of the other.
        from nwx.engine.elastic import ElasticEngine

        return ElasticEngine(settings.engine, settings.elastic)
    scheme, separator, _ = settings.engine.partition("://")
    if separator:
        raise UsageError(
            f"--engine {settings.engine}: unknown scheme {scheme!r}; give a folder, "
            "or the http:// or https:// address of an Elasticsearch"
        )
    from nwx.engine.embedded import EmbeddedEngine

    return EmbeddedEngine(Path(settings.engine), read_only=read_only)
