"""Captures: their records as pages and downloads, their citations, and quotations found in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from flask import Blueprint, Response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.answers.citations import CITATION_FORMS, Citation, cite
from nwx.errors import FormatError, SourceError, TimestampError
from nwx.keys import document_id, holds, id_of_capture
from nwx.model import Capture
from nwx.quality.stored_blocks import StoredBlock
from nwx.searching.quotations import MOST_QUOTED
from nwx.values.http import NO_HEAD, HttpHead, decode_body, response_head
from nwx.values.timestamps import parse_timestamp
from webapp.headers import root_url
from webapp.replay.routes import address as replay_address
from webapp.site import parameters, words
from webapp.site.context import archive, document_or_404, service
from webapp.site.question_limits import answer_search
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


@blueprint.get(f"/{_DOCUMENT}/records/{_RECORD}", endpoint="show")
def show_record(id: str, timestamp: str, record: str) -> ResponseReturnValue:
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


citation_blueprint = Blueprint("citations", __name__)


@citation_blueprint.get("/cite", endpoint="show")
def show_citation() -> ResponseReturnValue:
    """Show the citation of the capture of a URL nearest to a date, or return it in one format."""
    url = parameters.needed_url(request.args, "/cite")
    at, form = (parameters.text(request.args, name, 30) for name in ("at", "format"))
    found = archive().capture(url, at)
    title = found.cite() if found else None
    citation = found and title and citation_of(found.url, found.timestamp, title.title)
    if not citation:
        raise NotFound(gettext("there is no document of %(url)s in this archive", url=url))
    if not form:
        return render_template("cite.html", citation=citation)
    parameters.one_of_these("format", form, CITATION_FORMS)
    return Response(CITATION_FORMS[form](citation), mimetype="text/plain")


def citation_of(url: str, timestamp: str, title: str) -> Citation | None:
    """Return the citation of a capture, with the public address of the archive."""
    own = service()
    root = own.search_url or own.settings.public_url or root_url()
    place = replay_address(timestamp, url).removeprefix(request.script_root)
    memento = f"{root}{place}" if own.replays else ""
    return cite(url, timestamp, title, own.title, root, memento)


quotation_blueprint = Blueprint("quotations", __name__)
SHOWN_VERSIONS = 100


@quotation_blueprint.get("/quote", endpoint="show")
def show_quotation() -> ResponseReturnValue:
    """Show the captures that contain quoted words."""
    text = parameters.text(request.args, "text", MOST_QUOTED)
    url, site = parameters.url(request.args), parameters.text(request.args, "site", 300)
    own = archive()
    found = answer_search(lambda: own.quote(text, url=url, site=site)) if text else None
    return render_template(
        "quote.html", text=text, url=url, site=site, found=found, most=SHOWN_VERSIONS
    )
