"""Archives as older versions left them: written by this one, and taken back step by step."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nwx.engine.base import Engine
from nwx.engine.elastic import ElasticEngine
from nwx.engine.elastic.pages import search_page
from nwx.engine.elastic.server import Server, quoted
from nwx.model import IndexName
from nwx.settings import ElasticSettings

_FIRST_FORMAT = """
DROP TABLE IF EXISTS attached;
DROP INDEX IF EXISTS captures_by_digest;
CREATE TABLE facets (id TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID;
ALTER TABLE captures DROP COLUMN via;
DELETE FROM counters WHERE name = 'facets';
"""


def make_older(engine: Engine) -> None:
    """Turn a closed archive into one of the first version, without the index facets."""
    if isinstance(engine, ElasticEngine):
        _make_older_indices(engine)
    else:
        _make_older_folder(Path(engine.address))


def make_newer(engine: Engine) -> None:
    """Turn a closed archive into one of a version to come."""
    if isinstance(engine, ElasticEngine):
        server, prefix = _server(engine)
        mapping = {"_meta": {"version": 99}}
        server.request("PUT", f"/{quoted(f'{prefix}-captures')}/_mapping", mapping)
        server.close()
    else:
        _change_manifest(Path(engine.address), format=99)


def _make_older_folder(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "archive.sqlite")) as db:
        db.executescript(_FIRST_FORMAT)
    mappings = dict.fromkeys(("documents", "dates", "captures", "files"), 1)
    _change_manifest(folder, format=1, mappings=mappings)


def _change_manifest(folder: Path, **changes: Any) -> None:
    manifest = folder / "nwx.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | changes))


def _server(engine: ElasticEngine) -> tuple[Server, str]:
    prefix = engine._schema.name(IndexName.FACETS).removesuffix("-facets")
    return Server(engine.address, ElasticSettings()), prefix


def _make_older_indices(engine: ElasticEngine) -> None:
    server, prefix = _server(engine)
    for name in server.request("GET", f"/{quoted(f'{prefix}-facets')}"):
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
