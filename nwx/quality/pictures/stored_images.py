"""The bytes of archived images, read from the archive's files."""

from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.engine.file_places import FilePlaces
from nwx.errors import ErrorText, FormatError, TimestampError, UrlError
from nwx.model import Capture
from nwx.quality.stored_blocks import block_of_capture
from nwx.values.http import NO_HEAD, decode_body, response_head
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey

MOST_IMAGE_BYTES = 32 << 20
"""The longest image that is read, stored and decoded."""

DECODED_TYPES = frozenset(
    (
        "image/png",
        "image/apng",
        "image/jpeg",
        "image/jpg",
        "image/pjpeg",
        "image/gif",
        "image/webp",
        "image/bmp",
        "image/x-ms-bmp",
        "image/x-icon",
        "image/vnd.microsoft.icon",
        "image/avif",
    )
)
"""The content types of images that can be decoded."""

_NEAR = 16
_SUCCESS = 200
_REVISIT = "revisit"


def find_image(engine: Engine, url: str, timestamp: str) -> Capture | None:
    """Return the capture of an image that is nearest to a time, None where a URL has none.

    For a revisit it is that of the same payload.
    """
    try:
        asked = KeysAtTime((urlkey(url),), normal_timestamp(timestamp))
    except (UrlError, TimestampError):
        return None
    (near,) = engine.captures_near([asked], _NEAR)
    for capture in near:
        if capture.record_type == _REVISIT:
            original = _original(engine, capture)
            if original is not None and is_decoded(original):
                return original
        elif is_decoded(capture):
            return capture
    return None


def _original(engine: Engine, revisit: Capture) -> Capture | None:
    """Return a capture with the payload of a revisit: of the same URL, else of any."""
    if not revisit.digest:
        return None
    same = next(engine.captures_by_digest(revisit.digest, revisit.urlkey), None)
    return same or next(engine.captures_by_digest(revisit.digest), None)


def is_decoded(capture: Capture) -> bool:
    """Tell whether a capture holds an image that can be decoded, by what was said of it."""
    return capture.content_type in DECODED_TYPES and capture.status_code in (_SUCCESS, None)


def read_image(places: FilePlaces, capture: Capture, limit: int = MOST_IMAGE_BYTES) -> bytes:
    """Return the payload of a captured image, decoded of its content codings.

    Raises SourceError where its file cannot be read, and FormatError where
    another record or a damaged one is in its place, or a longer payload
    than `limit`.
    """
    head, block, _ = block_of_capture(places, capture, limit)
    http = response_head(block) if head.kind == "response" else NO_HEAD
    decoded = decode_body(http, memoryview(block)[http.size :], limit)
    if decoded.cut:
        raise FormatError(ErrorText("the image has more than %(limit)s bytes", limit=limit))
    return decoded.data
