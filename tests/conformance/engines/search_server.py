"""Archives on search servers, each under a separate prefix."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.engine.entries import capture_entry
from nwx.engine.search_server.capture_store import captures_of, read_fields
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.engine.search_server.pages import ids_of_all, search_page
from nwx.engine.search_server.schema import TOO_LONG, WHOLE
from nwx.engine.search_server.server import Server, quoted
from nwx.engine.search_server.writes import BulkAction, send
from nwx.engine.server_engines import ElasticServer, OpenSearchServer
from nwx.errors import EngineUnavailableError
from nwx.model import IndexName
from nwx.settings import ServerSettings, Settings
from tests.conformance.engines.recycled import RecycledIndices


class SearchServerUnderTest:
    """Archives on the server whose address a fixture provides."""

    def __init__(self, fixture: str) -> None:
        self._fixture = fixture

    def new_archive(
        self, folder: Path, request: pytest.FixtureRequest
    ) -> AbstractContextManager[Callable[[], Engine]]:
        """Yield a function that opens a new archive without indices, any number of times."""
        return _new_archive(request.getfixturevalue(self._fixture))

    def recycled_archive(
        self, folder: Path, request: pytest.FixtureRequest
    ) -> AbstractContextManager[Engine]:
        """Yield an empty open archive, whose indices may be recycled from other cases."""
        return _recycled_archive(request.getfixturevalue(self._fixture))

    def make_older(self, engine: Engine) -> None:
        """Downgrade a closed archive to the first version, without facets and crawls."""
        with _server(engine) as (server, prefix):
            _take_back_version(server, prefix)

    def empty_queue(self, engine: Engine) -> None:
        """Remove all URLs, hosts and updates from the queue of an open archive."""
        with _server(engine) as (server, prefix):
            index = f"{prefix}-queue"
            if server.request("GET", f"/{quoted(index)}", params={"ignore_unavailable": "true"}):
                ids = ids_of_all(server, index)
                send(server, [BulkAction(index, id, None, "delete") for id in ids])

    def make_newer(self, engine: Engine) -> None:
        """Mark a closed archive as one of a future version."""
        with _server(engine) as (server, prefix):
            mapping = {"_meta": {"version": 99}}
            server.request("PUT", f"/{quoted(f'{prefix}-captures')}/_mapping", mapping)

    def stored_files(self, engine: Engine, *, access: bool) -> Iterator[Path]:
        """Yield all files of an open archive, those of the access index only with `access`."""
        with _server(engine) as (server, prefix):
            indices = server.request("GET", f"/{quoted(f'{prefix}-*')}/_settings/index.uuid")
            (node,) = server.request("GET", "/_nodes/settings")["nodes"].values()
        for name, found in indices.items():
            if access or not name.startswith(f"{prefix}-access"):
                uuid_of_index = found["settings"]["index"]["uuid"]
                for folder in _data_folders(node):
                    for place in ("indices", "nodes/0/indices"):  # Elasticsearch, OpenSearch
                        yield from (folder / place / uuid_of_index).rglob("*.*")


@contextmanager
def _new_archive(address: str) -> Iterator[Callable[[], Engine]]:
    settings = Settings(address, ServerSettings(prefix=f"nwx-test-{uuid.uuid4().hex}"))
    try:
        yield lambda: open_engine(settings)
    finally:
        remove_indices(settings)


_RECYCLED: dict[str, RecycledIndices] = {}


@contextmanager
def _recycled_archive(address: str) -> Iterator[Engine]:
    indices = _RECYCLED.setdefault(address, RecycledIndices(server_at(address)))
    settings = Settings(address, ServerSettings(prefix=f"nwx-test-{uuid.uuid4().hex}"))
    indices.lend(settings.server.prefix)
    try:
        with open_engine(settings) as engine:
            engine.create()
            indices.note(settings.server.prefix)
            yield engine
    finally:
        indices.take_back(settings.server.prefix)


def remove_recycled() -> None:
    """Delete the free indices."""
    for indices in _RECYCLED.values():
        with suppress(EngineUnavailableError):  # a server of this run that has ended
            indices.remove()
        indices.server.close()
    _RECYCLED.clear()


def remove_indices(settings: Settings) -> None:
    """Remove the indices with the prefix of a test."""
    server = server_at(settings.engine)
    if names := list(server.request("GET", f"/{settings.server.prefix}-*")):
        server.request("DELETE", f"/{quoted(','.join(names))}")
    server.close()


def server_at(address: str) -> Server:
    """Return a connection to the server at an address."""
    is_opensearch = address.startswith("opensearch+")
    return (OpenSearchServer if is_opensearch else ElasticServer)(address, ServerSettings())


@contextmanager
def _server(engine: Engine) -> Iterator[tuple[Server, str]]:
    assert isinstance(engine, SearchServerEngine)
    prefix = engine._schema.name(IndexName.FACETS).removesuffix("-facets")
    with closing(server_at(engine.address)) as server:
        yield server, prefix


_LATER_OPTIONS = ("index", "doc_values")


def _take_back_version(server: Server, prefix: str) -> None:
    later = quoted(f"{prefix}-facets,{prefix}-crawls")
    for name in server.request("GET", f"/{later}", params={"ignore_unavailable": "true"}):
        server.request("DELETE", f"/{quoted(name)}")
    # A field cannot be removed from a mapping: replace the index by one without it.
    captures = f"{prefix}-captures"
    (concrete,) = server.request("GET", f"/{quoted(captures)}")
    found = server.request("GET", f"/{quoted(captures)}/_mapping")[concrete]["mappings"]
    fields = {
        name: {option: value for option, value in field.items() if option not in _LATER_OPTIONS}
        for name, field in found["properties"].items()
        if name not in ("via", WHOLE)
    }
    notes = {"version": 0, "kept": "as it is"}
    older = f"{concrete}-older"
    mapping = {"dynamic": "strict", "_meta": notes, "properties": fields}
    server.request("PUT", f"/{quoted(older)}", {"mappings": mapping})
    hits = search_page(server, concrete, {"size": 1_000} | read_fields(server))["hits"]["hits"]
    for hit, capture in zip(hits, captures_of(server, concrete, hits), strict=True):
        entry = capture_entry(capture)
        if server.ignored_field == TOO_LONG and TOO_LONG in hit["fields"]:
            entry[TOO_LONG] = hit["fields"][TOO_LONG]
        server.request("PUT", f"/{quoted(older)}/_doc/{quote(entry['id'], safe='')}", entry)
    server.request("POST", f"/{quoted(older)}/_refresh")
    actions = [
        {"remove_index": {"index": concrete}},
        {"add": {"index": older, "alias": captures, "is_write_index": True}},
    ]
    server.request("POST", "/_aliases", {"actions": actions})


def _data_folders(node: Any) -> list[Path]:
    given = node["settings"]["path"]["data"]
    return [Path(one) for one in ([given] if isinstance(given, str) else given)]
