"""The addresses of a primary that OutbackCDX has, for followers: changes, sequence, aliases."""

import json
from base64 import b64encode
from collections.abc import Iterator
from itertools import islice

from flask import Response, request
from werkzeug.exceptions import NotFound

from nwx.cdxserver.parameters import parameters_of
from nwx.cdxserver.replication.changes import DEFAULT_SIZE, ChangeFeed, NumberedBatch
from nwx.cdxserver.replication.write_batches import BY_BATCH, USUAL_VERSION
from nwx.engine.base import Engine
from nwx.engine.indices.alias_index import Aliases
from webapp.cdx.writes import authorized

_MOST = (1 << 63) - 1
_ALIASES_AT_ONCE = 1_000


def changes(collection: str) -> Response:
    """Stream the changes after a sequence number as write batches."""
    engine = _engine_of(collection)
    asked = parameters_of(request.query_string.decode("utf-8", "surrogateescape"))
    feed = ChangeFeed(
        engine, collection, asked.number("version", USUAL_VERSION, 0, _MOST) or USUAL_VERSION
    )
    since = asked.number("since", 0, 0, _MOST) or 0
    found = feed.batches(since, asked.number("size", DEFAULT_SIZE, 1, _MOST) or DEFAULT_SIZE)
    return Response(_json_lines(found), mimetype="application/json")


def _json_lines(batches: Iterator[NumberedBatch]) -> Iterator[bytes]:
    """Yield an array with an object on each line, as OutbackCDX writes it."""
    start = b"[\n"
    for number, data in batches:
        encoded = b64encode(data)
        yield b'%b{"sequenceNumber": "%d", "writeBatch": "%b"}' % (start, number, encoded)
        start = b",\n"
    yield b"[]\n" if start == b"[\n" else b"\n]\n"


def sequence(collection: str) -> Response:
    """Answer with the number of the last change."""
    engine = _engine_of(collection)
    number = str(ChangeFeed(engine, collection).sequence())
    return Response(number, mimetype="text/plain", headers={BY_BATCH: "batches"})


def aliases(collection: str) -> Response:
    """List aliases from a urlkey on."""
    asked = parameters_of(request.query_string.decode("utf-8", "surrogateescape"))
    known = _engine_of(collection).aliases.of(collection) or Aliases()
    found = (one._asdict() for one in known if one.alias >= asked.text("key"))
    most = asked.number("limit", _ALIASES_AT_ONCE, 0, _MOST)
    return Response(json.dumps(list(islice(found, most))), mimetype="application/json")


def _engine_of(collection: str) -> Engine:
    engine = authorized(basic=True)
    if collection not in engine.collections():
        raise NotFound(f"there is no collection {collection[:80]!r}")
    return engine
