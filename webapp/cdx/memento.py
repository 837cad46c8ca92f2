"""Memento (RFC 7089): TimeMaps, which list the captures of a URL, and TimeGates, which find one.

TimeMaps are `/timemap/link/URL`; as JSON and CDXJ they are the lines of
the CDX server, as in pywb. TimeGates are `/timegate/URL`. Both exist
per collection too: `/<collection>/timemap/link/URL`.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import quote

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException, NotFound

from nwx.cdx.rows import CdxRow
from nwx.cdxserver.query_model import MOST_VALUE_CHARACTERS, PYWB, Parameters
from nwx.errors import CdxQueryError, NwxError, TimestampError
from nwx.values.timestamps import parse_timestamp, to_timestamp
from webapp.cdx import routes
from webapp.cdx.service import CdxService, cdx_server, cdx_service, require_write
from webapp.cdx.streams import as_response
from webapp.headers import root_url
from webapp.replay.routes import SAFE, sent_url, target_after

blueprint = Blueprint("memento", __name__)

LINK_FORMAT = "application/link-format"
_FORMS = "link,json,cdxj"
_COLLECTION = "<collection:collection>"
_ROWS_AT_ONCE = 200
_FIRST_CENTURY = re.compile(r"(?<![+-])\b00\d\d\b")


@blueprint.route(f"/timemap/<any({_FORMS}):form>/<path:asked>", merge_slashes=False)
@blueprint.route(f"/{_COLLECTION}/timemap/<any({_FORMS}):form>/<path:asked>", merge_slashes=False)
def timemap(form: str, asked: str, collection: str = "") -> ResponseReturnValue:
    """List the captures of a URL."""
    if collection:
        require_write(collection)
    found = cdx_service()
    url = _raw_behind(f"/timemap/{form}/")
    if form != "link":
        parameters = Parameters([("url", url), ("matchType", "exact"), ("output", form)])
        answer = cdx_server().answer(parameters, PYWB, collection=collection)
        return as_response(lambda: (answer.pieces, answer.media_type), gzip=None)
    addresses = _Addresses(found, url, collection)
    first = next(_captures(url, collection), None)
    if first is None:
        raise NotFound(f"there are no captures of {url[:200]}")
    last = next(_captures(url, collection, sort="reverse"), first)
    pieces = _links(addresses, _captures(url, collection), first, last)
    return as_response(lambda: (pieces, LINK_FORMAT), gzip=None)


@blueprint.route("/timegate/<path:asked>", merge_slashes=False)
@blueprint.route(f"/{_COLLECTION}/timegate/<path:asked>", merge_slashes=False)
def timegate(asked: str, collection: str = "") -> ResponseReturnValue:
    """Redirect to the capture of a URL closest to the time in Accept-Datetime, or to the newest."""
    if collection:
        require_write(collection)
    url = _raw_behind("/timegate/")
    row = next(_captures(url, collection, closest=_wanted_time()), None)
    if row is None:
        raise NotFound(f"there are no captures of {url[:200]}")
    addresses = _Addresses(cdx_service(), url, collection)
    response = Response(status=302)
    response.headers["Location"] = addresses.memento(row)
    response.vary.add("Accept-Datetime")
    response.headers["Link"] = ", ".join(
        (
            _link(quote(url, safe=SAFE), "original"),
            _link(addresses.timemap, "timemap", type=LINK_FORMAT),
            _link(addresses.memento(row), "memento", datetime=_http_date(row)),
        )
    )
    return response


class _Addresses:
    """The Memento addresses of a URL, as the client sees them.

    Raises NotFound if playback is off.
    """

    def __init__(self, service: CdxService, url: str, collection: str) -> None:
        base = service.replay_url
        if not base:
            raise NotFound(
                "captures are not played here, so that they have no addresses; start the"
                " server with --replay-url URL, or ask for /timemap/cdxj/"
            )
        root = root_url()
        self._replay = f"{root}{base}" if base.startswith("/") else base
        here = f"{root}/{quote(collection)}" if collection else root
        self._url = quote(url, safe=SAFE)
        self.timemap = f"{here}/timemap/link/{self._url}"
        self.timegate = f"{here}/timegate/{self._url}"

    def memento(self, row: CdxRow) -> str:
        """Return the playback address of a capture."""
        return f"{self._replay}/{row.timestamp}/{quote(row.url, safe=SAFE)}"


def _raw_behind(start: str) -> str:
    """Return the URL at the end of the request path, as the client sent it, with its query."""
    url = sent_url(target_after(start))
    if len(url) > MOST_VALUE_CHARACTERS:
        raise CdxQueryError(
            f"the URL has {len(url)} characters; at most {MOST_VALUE_CHARACTERS} are allowed"
        )
    return url


def _captures(url: str, collection: str, **parameters: str) -> Iterator[CdxRow]:
    server = cdx_server()
    asked = Parameters([("url", url), ("matchType", "exact"), ("limit", "0"), *parameters.items()])
    return iter(server.rows(server.query(asked, PYWB, collection=collection)))


def _wanted_time() -> str:
    """Return the timestamp in Accept-Datetime, by default the current time."""
    text = request.headers.get("Accept-Datetime", "")
    if not text:
        return to_timestamp(datetime.now(UTC))
    try:
        if _FIRST_CENTURY.search(text):  # email.utils reads 0000 as 2000
            raise ValueError
        return to_timestamp(parsedate_to_datetime(text).astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise CdxQueryError(
            f"Accept-Datetime is {text[:60]!r}; write a date such as Thu, 31 May 2007 20:35:00 GMT"
        ) from error


def _links(
    addresses: _Addresses, rows: Iterator[CdxRow], first: CdxRow, last: CdxRow
) -> Iterator[bytes]:
    original = addresses.timemap.partition("/timemap/link/")[2]
    lines = [
        _link(original, "original"),
        _link(addresses.timegate, "timegate"),
        _link(
            addresses.timemap,
            "self",
            type=LINK_FORMAT,
            **{"from": _http_date(first), "until": _http_date(last)},
        ),
    ]
    for row in rows:
        if len(lines) > _ROWS_AT_ONCE:
            yield (",\n".join(lines) + ",\n").encode()
            lines = []
        edges = ("first",) * (row == first) + ("last",) * (row == last)
        rel = " ".join((*edges, "memento"))
        lines.append(_link(addresses.memento(row), rel, datetime=_http_date(row)))
    yield (",\n".join(lines) + "\n").encode()


def _link(address: str, rel: str, **attributes: str) -> str:
    further = "".join(f'; {name}="{value}"' for name, value in attributes.items() if value)
    return f'<{address}>; rel="{rel}"{further}'


def _http_date(row: CdxRow) -> str:
    """Return the time of a capture as an HTTP date, "" if its timestamp is invalid."""
    try:
        instant = parse_timestamp(row.timestamp + "00000101000000"[len(row.timestamp) :])
        return format_datetime(instant, usegmt=True)
    except (TimestampError, ValueError):
        return ""


@blueprint.errorhandler(NwxError)
def _known(error: NwxError) -> Response:
    return routes.known_failure(error)


@blueprint.errorhandler(HTTPException)
def _http(error: HTTPException) -> Response:
    return routes.http_failure(error)
