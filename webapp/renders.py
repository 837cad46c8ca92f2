"""Renders and thumbnails of captured pages: lists and responses."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from flask import Blueprint, Response, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound

from nwx.errors import (
    EngineBusyError,
    ErrorText,
    FormatError,
    SourceError,
    TimestampError,
    UsageError,
)
from nwx.keys import id_of_capture
from nwx.model import Capture
from nwx.quality.stored_renders import FoundRender, PageMoment
from nwx.values.render_names import RenderKind
from nwx.values.timestamps import normal_timestamp
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.words import error_text

NO_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
"""The Content-Security-Policy of archived content: no scripts, no requests, no framing."""

KEPT_SECONDS = 3_600
_ETAG_DIGITS = 32

_MAGICS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_WEBP = "image/webp"
_JSON = "application/json"
_TEXT = "text/plain"
_BYTES = "application/octet-stream"
_JSON_TYPES = (_JSON, "application/har+json", "text/json")

NO_PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 20" width="320" height="200">'
    '<rect width="32" height="20" fill="#8884"/>'
    '<path d="M11 14l4-5 3 3 2-2 3 4z" fill="#888"/></svg>'
)
"""The placeholder of a picture that cannot be shown."""


def etag_of(*parts: object) -> str:
    """Return the ETag of a response that depends on these parts only."""
    named = "\n".join(map(str, parts))
    return hashlib.blake2b(named.encode("utf-8", "surrogatepass")).hexdigest()[:_ETAG_DIGITS]


def not_modified(etag: str) -> Response | None:
    """Return a 304 response if the client has this version, else None."""
    if not request.if_none_match.contains_weak(etag):
        return None
    return _kept(Response(status=304), etag)


def picture_answer(payload: bytes, media_type: str, etag: str) -> Response:
    """Return the response with a picture made by nwx."""
    return _kept(_harmless(Response(payload, mimetype=media_type)), etag)


def placeholder_answer(status: int = 404) -> Response:
    """Return the placeholder picture; browsers show it despite the status."""
    response = _harmless(Response(NO_PICTURE, status, mimetype="image/svg+xml"))
    response.headers["Cache-Control"] = "no-store"
    return response


def render_answer(payload: bytes, media_type: str, name: str, etag: str) -> Response:
    """Return a stored render: pictures and JSON unchanged, texts and HTML as plain text.

    PDF and all other types are downloads, with a file name.
    """
    served = served_type(payload, media_type)
    response = _harmless(Response(payload))
    if served == _TEXT:
        response.headers["Content-Type"] = f"{_TEXT}; charset=utf-8"
    else:
        response.headers["Content-Type"] = served
    disposition = "attachment" if served in (_BYTES, "application/pdf") else "inline"
    response.headers["Content-Disposition"] = f"{disposition}; filename={name}"
    return _kept(response, etag)


def served_type(payload: bytes, media_type: str) -> str:
    """Return the safe content type of bytes, by their signature and declared type."""
    for magic, found in _MAGICS:
        if payload.startswith(magic):
            return found
    if payload[:4] == b"RIFF" and payload[8:12] == b"WEBP":
        return _WEBP
    if media_type in _JSON_TYPES:
        return _JSON
    if media_type.startswith("text/") or media_type.endswith(("xml", "html")):
        return _TEXT
    if media_type == "application/pdf" and payload.startswith(b"%PDF-"):
        return media_type
    return _BYTES


def _harmless(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = NO_SCRIPTS
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def _kept(response: Response, etag: str) -> Response:
    response.set_etag(etag)
    response.headers["Cache-Control"] = f"private, max-age={KEPT_SECONDS}"
    return response


MOST_RENDERS = 100
"""The most renders listed on the page of a document."""

_LABELS = {
    RenderKind.VIEW: lazy_gettext("Screenshot"),
    RenderKind.THUMBNAIL: lazy_gettext("Thumbnail"),
    RenderKind.FULL_PAGE: lazy_gettext("Full page"),
    RenderKind.TEXT: lazy_gettext("Text"),
    RenderKind.TEXT_FINAL: lazy_gettext("Final text"),
    RenderKind.PAGEINFO: lazy_gettext("Page information"),
    RenderKind.DOM: "DOM",
    RenderKind.HAR: "HAR",
    RenderKind.IMAGE_MAP: lazy_gettext("Image map"),
    RenderKind.SNAPSHOT: lazy_gettext("Snapshot"),
}


class ListedRender(NamedTuple):
    """A render in a list: its label, its address and its capture."""

    label: str
    address: str
    capture: Capture


def listed_renders(url: str, found: Sequence[FoundRender]) -> list[ListedRender]:
    """Return the renders of a page, ordered by timestamp, with their addresses."""
    numbers: Counter[tuple[RenderKind, str]] = Counter()
    listed = []
    for kind, capture in found:
        numbers[kind, capture.timestamp] += 1
        number = numbers[kind, capture.timestamp]
        address = url_for(
            "pictures.render",
            kind=kind,
            url=url,
            timestamp=capture.timestamp,
            number=number if number > 1 else None,
        )
        listed.append(ListedRender(str(_LABELS[kind]), address, capture))
    return sorted(listed, key=lambda one: one.capture.timestamp)


blueprint = Blueprint("pictures", __name__)

_VERSION = 1
"""To be increased when the scaling of pictures changes."""

_MOST_OF_A_KIND = 200
_SUFFIXES = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "application/pdf": "pdf",
    "application/json": "json",
    "text/plain": "txt",
    "text/html": "html.txt",
}


class ThumbnailSize(StrEnum):
    """The size of a thumbnail: small for lists, large for the page of a document."""

    SMALL = "small"
    LARGE = "large"


BOXES = {ThumbnailSize.SMALL: (320, 200), ThumbnailSize.LARGE: (960, 600)}
"""Sizes in pixels: twice the size on the page, for high-resolution screens."""


@blueprint.get("/thumbnail")
def thumbnail() -> ResponseReturnValue:
    """Answer with a thumbnail of a page or image at a time."""
    page = _page()
    size = parameters.choice(request.args, "size", ThumbnailSize.SMALL)
    shown = archive()
    found = shown.page_pictures().shown_by(page)
    if found is None:
        archive().check_shown(page.url)
        return placeholder_answer()
    capture, is_render = found

    def payload() -> bytes:
        return shown.render(capture).payload if is_render else shown.image(capture)

    etag = etag_of(_VERSION, size, _identity(capture))
    known = not_modified(etag)
    if known is not None:
        return known
    # Imported here, so that Pillow is loaded only for pictures.
    from nwx.quality.images import scaled

    width, height = BOXES[size]
    try:
        picture = service().scaled.picture(
            etag, lambda: scaled(payload(), width, height, _WEBP, crop=is_render)
        )
    except (FormatError, SourceError):
        return placeholder_answer()
    except EngineBusyError:
        return placeholder_answer(503)
    return picture_answer(picture, _WEBP, etag)


@blueprint.get("/renders/<kind>")
def render(kind: str) -> ResponseReturnValue:
    """Answer with the stored render of a kind nearest in time to a capture of a page."""
    page, number = _page(), _number()
    of_kind = [
        one.capture for one in archive().page_pictures().renders(page) if one.kind == _kind(kind)
    ]
    if number > len(of_kind):
        archive().check_shown(page.url)
        raise NotFound(gettext("there is no such render of %(url)s in this archive", url=page.url))
    capture = of_kind[number - 1]
    etag = etag_of(_identity(capture))
    known = not_modified(etag)
    return known if known is not None else _stored(capture, kind, etag)


def _stored(capture: Capture, kind: str, etag: str) -> Response:
    with service().scaled.place():
        try:
            found = archive().render(capture)
        except (FormatError, SourceError) as error:
            raise NotFound(
                gettext("this render cannot be read: %(reason)s", reason=error_text(error))
            ) from error
    suffix = _SUFFIXES.get(found.media_type, "bin")
    name = f"{kind}-{capture.timestamp}.{suffix}"
    return render_answer(found.payload, found.media_type, name, etag)


def _kind(name: str) -> RenderKind:
    try:
        return RenderKind(name)
    except ValueError as error:
        raise NotFound(
            gettext("there are no renders of the kind %(name)s", name=repr(name[:40]))
        ) from error


def _page() -> PageMoment:
    url = parameters.url(request.args)
    timestamp = parameters.text(request.args, "timestamp", 14)
    if not url or not timestamp:
        raise UsageError(
            ErrorText("url and timestamp are needed; write ?url=ADDRESS&timestamp=20100101")
        )
    try:
        return PageMoment(url, normal_timestamp(timestamp))
    except TimestampError as error:
        raise UsageError(error.text) from error


def _number() -> int:
    return parameters.number_parameter(request.args, "number", 1, 1, _MOST_OF_A_KIND)


def _identity(capture: Capture) -> str:
    return f"{id_of_capture(capture)} {capture.digest} {capture.timestamp}"
