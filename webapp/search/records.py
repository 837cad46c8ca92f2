"""The records of captures as pages and downloads."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.errors import FormatError, SourceError, TimestampError
from nwx.keys import document_id, holds, id_of_capture
from nwx.model import Capture
from nwx.quality.stored_blocks import StoredBlock
from nwx.values.http import NO_HEAD, HttpHead, decode_body, response_head
from nwx.values.timestamps import parse_timestamp
from webapp.site import words
from webapp.site.context import archive, document_or_404, service
from webapp.site.words import error_text

blueprint = Blueprint("records", __name__, url_prefix="/documents")

MOST_PAYLOAD_BYTES = 256 << 20
"""The most bytes of a record that is shown or downloaded."""

_MOST_HEAD_CHARACTERS = 64_000
_DOCUMENT = "<string(length=32):id>"
_RECORD = "<string(length=14):timestamp>/<string(length=32):record>"
_NAME = re.compile(r"[^\w.-]+")
_MOST_NAME = 100


@dataclass(frozen=True, slots=True)
class _Heads:
    """The stored heads of a record, and the length of its payload in bytes."""

    warc: str
    http: str
    length: int


@blueprint.get(f"/{_DOCUMENT}/records/{_RECORD}")
def show(id: str, timestamp: str, record: str) -> ResponseReturnValue:
    """Show the headers of a record that has a document."""
    found = _capture_or_404(id, timestamp, record)
    stored = _stored(found)
    head = _http(stored)
    heads = _Heads(
        _text(stored.lines),
        _text(stored.block[: head.size]),
        len(stored.block) - head.size,
    )
    return render_template(
        "record.html",
        id=id,
        document=document_or_404(id),
        capture=found,
        heads=heads,
        payload=url_for(".payload", id=id, timestamp=timestamp, record=record),
    )


@blueprint.get(f"/{_DOCUMENT}/records/{_RECORD}/payload")
def payload(id: str, timestamp: str, record: str) -> Response:
    """Return the payload of a record as a download, never as a page of this site."""
    found = _capture_or_404(id, timestamp, record)
    stored = _stored(found)
    head = _http(stored)
    decoded = decode_body(head, memoryview(stored.block)[head.size :], MOST_PAYLOAD_BYTES)
    if decoded.cut:
        raise NotFound(
            gettext(
                "the payload has more than %(most)s bytes",
                most=words.grouped(MOST_PAYLOAD_BYTES),
            )
        )
    response = Response(decoded.data, mimetype="application/octet-stream")
    name = _file_name(found)
    response.headers["Content-Disposition"] = (
        f'attachment; filename="{name.encode("ascii", "replace").decode().replace("?", "_")}"; '
        f"filename*=UTF-8''{quote(name)}"
    )
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def record_id(capture: Capture) -> str:
    """Return the id of a capture in addresses."""
    return document_id(id_of_capture(capture))


def _capture_or_404(id: str, timestamp: str, record: str) -> Capture:
    """Return a visible capture of a document by timestamp and record id; raises NotFound."""
    document = document_or_404(id)
    for one in _captures_at(document.capture.urlkey, timestamp):
        if record_id(one) == record and holds(one, id):
            return one
    raise NotFound(gettext("this document has no such record"))


def _captures_at(urlkey: str, timestamp: str) -> Sequence[Capture]:
    """Return the captures of a urlkey at a timestamp, none if that is invalid."""
    try:
        parse_timestamp(timestamp)
    except TimestampError:
        return ()
    return archive().captures_at(urlkey, timestamp)


def _stored(capture: Capture) -> StoredBlock:
    # Records are as large as pictures: share the limit on concurrent ones.
    with service().scaled.place():
        try:
            return archive().record(capture, MOST_PAYLOAD_BYTES)
        except FormatError as error:
            raise NotFound(
                gettext("this record cannot be read: %(reason)s", reason=error_text(error))
            ) from error
        except SourceError as error:
            # The error has a local path, which must not be shown.
            raise NotFound(
                gettext("the file %(file)s cannot be read here", file=capture.source_file)
            ) from error


def _http(stored: StoredBlock) -> HttpHead:
    return response_head(stored.block) if stored.head.kind != "resource" else NO_HEAD


def _text(head: bytes) -> str:
    return head[:_MOST_HEAD_CHARACTERS].decode("utf-8", "replace").strip()


def _file_name(capture: Capture) -> str:
    """Return a name for a payload: the last part of its URL's path."""
    try:
        path = unquote(urlsplit(capture.url).path)
    except ValueError:
        path = ""
    name = _NAME.sub("_", path.rstrip("/").rpartition("/")[2]).strip("._")[-_MOST_NAME:]
    return name or f"{_NAME.sub('_', capture.host) or 'payload'}.{capture.timestamp}"
