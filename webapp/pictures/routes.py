"""The routes of pictures and renders."""

from collections.abc import Callable
from enum import StrEnum

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.access.restricted.engine import check_url_shown
from nwx.errors import (
    EngineBusyError,
    ErrorText,
    FormatError,
    SourceError,
    TimestampError,
    UsageError,
)
from nwx.keys import capture_id
from nwx.model import Capture
from nwx.quality.renders.stored_renders import PageMoment, find_pictures, read_render
from nwx.quality.stored_blocks import find_image, read_image
from nwx.values.render_names import RenderKind
from nwx.values.timestamps import normal_timestamp
from webapp.pictures.answers import (
    etag_of,
    not_modified,
    picture_answer,
    placeholder_answer,
    render_answer,
)
from webapp.pictures.backend import pictures
from webapp.site import parameters
from webapp.site.error_texts import error_text

blueprint = Blueprint("pictures", __name__)

_WEBP = "image/webp"
_VERSION = 1
"""Another one for pictures that are scaled in another way."""

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
    """How large a thumbnail is: for a list, or for the page of a document."""

    SMALL = "small"
    LARGE = "large"


BOXES = {ThumbnailSize.SMALL: (320, 200), ThumbnailSize.LARGE: (960, 600)}
"""Pixels: twice those of the page, for screens of high resolution."""


@blueprint.get("/thumbnail")
def thumbnail() -> ResponseReturnValue:
    """Show what a page looked like, or an image, at a time: scaled down."""
    page = _page()
    size = parameters.choice(request.args, "size", ThumbnailSize.SMALL)
    found = _shown_by(page)
    if found is None:
        check_url_shown(pictures().engine, page.url)
        return placeholder_answer()
    capture, read = found
    etag = etag_of(_VERSION, size, _identity(capture))
    known = not_modified(etag)
    if known is not None:
        return known
    # Imported here, so that whoever serves no pictures does not load Pillow.
    from nwx.quality.images import scaled

    width, height = BOXES[size]
    try:
        picture = pictures().scaled.picture(
            etag, lambda: scaled(read(capture), width, height, _WEBP, crop=read is _render_payload)
        )
    except (FormatError, SourceError):
        return placeholder_answer()
    except EngineBusyError:
        return placeholder_answer(503)
    return picture_answer(picture, _WEBP, etag)


@blueprint.get("/renders/<kind>")
def render(kind: str) -> ResponseReturnValue:
    """Answer with a render of a page as it is stored, the nearest in time of its kind."""
    page, number = _page(), _number()
    of_kind = [one.capture for one in pictures().renders(page) if one.kind == _kind(kind)]
    if number > len(of_kind):
        check_url_shown(pictures().engine, page.url)
        raise NotFound(gettext("there is no such render of %(url)s in this archive", url=page.url))
    capture = of_kind[number - 1]
    etag = etag_of(_identity(capture))
    known = not_modified(etag)
    return known if known is not None else _stored(capture, kind, etag)


def _stored(capture: Capture, kind: str, etag: str) -> Response:
    with pictures().scaled.place():
        try:
            found = read_render(pictures().places, capture)
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
    """Return the page that an address asks for."""
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


def _shown_by(page: PageMoment) -> tuple[Capture, Callable[[Capture], bytes]] | None:
    """Return the capture that a page is shown by, and what reads the picture that it holds."""
    own = pictures()
    render = find_pictures(own.engine, [page])[0] if own.has_renders() else None
    if render is not None:
        return render, _render_payload
    image = find_image(own.engine, page.url, page.timestamp)
    return None if image is None else (image, _image_payload)


def _render_payload(capture: Capture) -> bytes:
    return read_render(pictures().places, capture).payload


def _image_payload(capture: Capture) -> bytes:
    return read_image(pictures().places, capture)


def _identity(capture: Capture) -> str:
    place = capture_id(capture.collection, capture.source_file, capture.source_file_offset)
    return f"{place} {capture.digest} {capture.timestamp}"
