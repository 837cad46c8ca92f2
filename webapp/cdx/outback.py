"""What OutbackCDX answers beside look-ups: captures that crawlers send, changes for followers."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import islice

from flask import Response, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Forbidden, NotFound, Unauthorized, UnsupportedMediaType

from nwx.cdx.files import whole_line_blocks
from nwx.cdxserver.loaded_lines import Loaded, load_lines, unload_lines
from nwx.cdxserver.query_model import parameters_of
from nwx.cdxserver.replication.changes import DEFAULT_SIZE, ChangeFeed, NumberedBatch
from nwx.cdxserver.replication.write_batches import BY_BATCH, USUAL_VERSION
from nwx.engine.base import Engine
from nwx.engine.indices.change_log import Aliases
from nwx.errors import CdxError, CdxQueryError
from webapp.cdx.service import cdx_service
from webapp.headers import has_token

_GZIP = b"\x1f\x8b"
MOST_NAME = 200


def add_lines(collection: str) -> Response:
    """Store the captures of the CDX lines that were sent."""
    return _answer(collection, load_lines, "Added")


def delete_lines(collection: str) -> Response:
    """Delete the captures of the CDX lines that were sent."""
    return _answer(collection, unload_lines, "Deleted")


def _answer(collection: str, change: Callable[..., Loaded], word: str) -> Response:
    engine = authorized()
    if cdx_service().follows:
        raise Forbidden("this server follows a primary; write to that")
    if len(collection) > MOST_NAME:
        raise CdxQueryError(f"a collection cannot be named {collection[:40]!r}")
    skip_bad = _skips_bad_lines()
    _check_plain(request.headers.get("Content-Encoding", "identity").lower() != "identity")
    # The server has read all of it: a client that is slow must not keep others from writing.
    body = request.environ["wsgi.input"]
    _check_plain(body.read(len(_GZIP)) == _GZIP)
    body.seek(0)
    try:
        done = change(
            engine, whole_line_blocks(body), collection, skip_bad=skip_bad, name="the request"
        )
    except CdxError as error:
        raise CdxQueryError(
            f"line {error.line}: {error}; nothing was changed, badLines=skip leaves such lines out"
        ) from error
    number = done.lines if word == "Added" else done.changed
    return Response(f"{word} {number} records\n", mimetype="text/plain")


def authorized(*, basic: bool = False) -> Engine:
    """Return the engine for whoever has the token; raises Forbidden or Unauthorized.

    With `basic` the token may be a password: followers have no other header.
    """
    found = cdx_service()
    if found.engine is None or not found.token:
        raise Forbidden("writing is off here; it needs an archive, and NWX_CDX_TOKEN to be set")
    header, given = request.headers.get("Authorization", ""), request.authorization
    if basic and given is not None and given.password is not None:
        header = f"Bearer {given.password}"
    if not has_token(header, found.token):
        raise Unauthorized(
            "this needs the header `Authorization: Bearer TOKEN`"
            if basic
            else "writing needs the header `Authorization: Bearer TOKEN`",
            www_authenticate=WWWAuthenticate(
                "basic" if basic else "bearer", {"realm": "nwx"} if basic else None
            ),
        )
    return found.engine


def _check_plain(packed: bool) -> None:
    """Raise UnsupportedMediaType on a packed body, of which each line would be a bad one."""
    if packed:
        raise UnsupportedMediaType("the body is compressed; send lines of plain text")


def _skips_bad_lines() -> bool:
    text = parameters_of(request.query_string.decode("utf-8", "surrogateescape")).text("badLines")
    if text not in ("", "error", "skip"):
        raise CdxQueryError(f"badLines is {text[:40]!r}; choose error or skip")
    return text == "skip"


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
