"""Archives on search servers, each under a prefix of its own."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nwx.engine.base import Engine
from nwx.engine.elastic.server import ElasticServer
from nwx.engine.open import open_engine
from nwx.engine.opensearch.server import OpenSearchServer
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.engine.search_server.pages import ids_of_all, search_page
from nwx.engine.search_server.server import Server, quoted
from nwx.errors import EngineUnavailableError
from nwx.model import IndexName
from nwx.settings import ElasticSettings, Settings
from tests.conformance.engines.recycled import RecycledIndices


@contextmanager
def new_archive_at(address: str) -> Iterator[Callable[[], Engine]]:
    """Give what opens an archive of its own, which has no indices yet, as often as wanted."""
    settings = Settings(address, ElasticSettings(prefix=f"nwx-test-{uuid.uuid4().hex}"))
    try:
        yield lambda: open_engine(settings)
    finally:
        remove_indices(settings)


_RECYCLED: dict[str, RecycledIndices] = {}


@contextmanager
def recycled_archive_at(address: str) -> Iterator[Engine]:
    """Give an empty open archive, whose indices other cases may have used before."""
    indices = _RECYCLED.setdefault(address, RecycledIndices(server_at(address)))
    settings = Settings(address, ElasticSettings(prefix=f"nwx-test-{uuid.uuid4().hex}"))
    indices.lend(settings.elastic.prefix)
    try:
        with open_engine(settings) as engine:
            engine.create()
            indices.note(settings.elastic.prefix)
            yield engine
    finally:
        indices.take_back(settings.elastic.prefix)


def remove_recycled() -> None:
    """Delete the indices that wait for other cases."""
    for indices in _RECYCLED.values():
        with suppress(EngineUnavailableError):  # a server of this run, which has ended
            indices.remove()
        indices.server.close()
    _RECYCLED.clear()


def remove_indices(settings: Settings) -> None:
    """Remove the indices of a prefix that a test made."""
    server = server_at(settings.engine)
    if names := list(server.request("GET", f"/{settings.elastic.prefix}-*")):
        server.request("DELETE", f"/{quoted(','.join(names))}")
    server.close()


def server_at(address: str) -> Server:
    """Return a connection to the server at an address."""
    is_opensearch = address.startswith("opensearch+")
    return (OpenSearchServer if is_opensearch else ElasticServer)(address, ElasticSettings())


def empty_queue(engine: Engine) -> None:
    """Forget all URLs, hosts and updates of the queue of an open archive."""
    server, prefix = _server(engine)
    index = f"{prefix}-queue"
    if server.request("GET", f"/{quoted(index)}", params={"ignore_unavailable": "true"}):
        send(server, [BulkAction(index, id, None, "delete") for id in ids_of_all(server, index)])
    server.close()


def make_newer(engine: Engine) -> None:
    """Turn a closed archive into one of a version to come."""
    server, prefix = _server(engine)
    mapping = {"_meta": {"version": 99}}
    server.request("PUT", f"/{quoted(f'{prefix}-captures')}/_mapping", mapping)
    server.close()


def _server(engine: Engine) -> tuple[Server, str]:
    assert isinstance(engine, SearchServerEngine)
    prefix = engine._schema.name(IndexName.FACETS).removesuffix("-facets")
    return server_at(engine.address), prefix


def make_older(engine: Engine) -> None:
    """Turn a closed archive into one of the first version, without facets and crawls."""
    server, prefix = _server(engine)
    later = quoted(f"{prefix}-facets,{prefix}-crawls")
    for name in server.request("GET", f"/{later}", params={"ignore_unavailable": "true"}):
        server.request("DELETE", f"/{quoted(name)}")
    # A field cannot be taken out of a mapping: an index without it takes the place.
    captures = f"{prefix}-captures"
    (concrete,) = server.request("GET", f"/{quoted(captures)}")
    mapping = server.request("GET", f"/{quoted(captures)}/_mapping")[concrete]["mappings"]
    del mapping["properties"]["via"]
    mapping["_meta"] = {"version": 0, "kept": "as it is"}
    older = f"{concrete}-older"
    server.request("PUT", f"/{quoted(older)}", {"mappings": mapping})
    for hit in search_page(server, concrete, {"size": 1_000})["hits"]["hits"]:
        server.request("PUT", f"/{quoted(older)}/_doc/{quote(hit['_id'], safe='')}", hit["_source"])
    server.request("POST", f"/{quoted(older)}/_refresh")
    actions = [
        {"remove_index": {"index": concrete}},
        {"add": {"index": older, "alias": captures, "is_write_index": True}},
    ]
    server.request("POST", "/_aliases", {"actions": actions})
    server.close()


def stored_files(engine: Engine, *, access: bool) -> Iterator[Path]:
    """Give all files of an open archive, those of the index access only with `access`."""
    server, prefix = _server(engine)
    indices = server.request("GET", f"/{quoted(f'{prefix}-*')}/_settings/index.uuid")
    (node,) = server.request("GET", "/_nodes/settings")["nodes"].values()
    server.close()
    for name, found in indices.items():
        if access or not name.startswith(f"{prefix}-access"):
            uuid_of_index = found["settings"]["index"]["uuid"]
            for folder in _data_folders(node):
                for place in ("indices", "nodes/0/indices"):  # of Elasticsearch, of OpenSearch
                    yield from (folder / place / uuid_of_index).rglob("*.*")


def _data_folders(node: Any) -> list[Path]:
    given = node["settings"]["path"]["data"]
    return [Path(one) for one in ([given] if isinstance(given, str) else given)]
