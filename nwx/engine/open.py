"""Opening of an engine by its address.

An engine is a package with a class that is an `Engine`, opened by its `open_engine`, and a line
in `_PACKAGES`.
"""

import re
from importlib import import_module
from pathlib import Path

from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.settings import Settings

_FOLDER = ""
_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}/?", re.ASCII)
_PACKAGES = {
    _FOLDER: "nwx.engine.embedded",
    "http": "nwx.engine.elastic",
    "https": "nwx.engine.elastic",
    "opensearch+http": "nwx.engine.opensearch",
    "opensearch+https": "nwx.engine.opensearch",
}
"""The packages of the engines by the schemes of their addresses; a folder has none."""


def is_server(address: str) -> bool:
    """Return whether an address is a server (http, https, opensearch+https), not a folder."""
    return bool(_scheme(address)) and _scheme(address) in _PACKAGES


def engine_package(address: str) -> str:
    """Return the package name of the engine at an address.

    Raises UsageError on an unknown scheme, and on HOST:PORT where there is no such folder.
    """
    scheme = _scheme(address)
    if scheme == _FOLDER and _PLACE.fullmatch(address) and not Path(address).is_dir():
        raise UsageError(
            f"--engine {address}: there is no such folder; write http://{address} for an "
            f"Elasticsearch, opensearch+http://{address} for an OpenSearch"
        )
    if scheme not in _PACKAGES:
        raise UsageError(
            f"--engine {address}: unknown scheme {scheme!r}; give a folder, "
            "the http:// or https:// address of an Elasticsearch, or the "
            "opensearch+http:// or opensearch+https:// address of an OpenSearch"
        )
    return _PACKAGES[scheme]


def _scheme(address: str) -> str:
    scheme, separator, _ = address.partition("://")
    return scheme if separator else _FOLDER


def open_engine(settings: Settings, *, read_only: bool = False) -> Engine:
    """Return the engine at `settings.engine`: a search server at an address, else a folder.

    Close it after use. Raises EngineError on a missing or unusable engine, UsageError on an unknown
    scheme.
    """
    # Imported here so that one engine never loads the libraries of the other.
    package = import_module(engine_package(settings.engine))
    engine: Engine = package.open_engine(settings, read_only=read_only)
    return engine
