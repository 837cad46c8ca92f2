"""Images and pages read from the archive's files by their places, and measured."""

from dataclasses import dataclass
from typing import NamedTuple

from nwx.errors import FormatError, SourceError
from nwx.model import Capture
from nwx.pictures.page_images import PAGE_LIMITS, ImagesOfPage, images_of_page
from nwx.quality.stored_blocks import MOST_IMAGE_BYTES, block_at
from nwx.values.http import NO_HEAD, charset_of, decode_body, response_head
from nwx.warc.sources import ArchiveSource


class PlacedPayload(NamedTuple):
    """A payload without its content codings, and the charset of its HTTP head."""

    data: bytes
    charset: str


def payload_at(path: str, capture: Capture, limit: int) -> PlacedPayload:
    """Return the payload of a capture whose file is at `path`.

    Raises SourceError if the file cannot be read, and FormatError if its place has another record
    or a damaged one, or a payload longer than `limit`.
    """
    member = capture.source_file.partition("#")[2]
    source = ArchiveSource(capture.source_file, path, None, member)
    offset = capture.source_file_offset
    head, block, _ = block_at(source, offset, limit, lambda uri: uri == capture.url)
    http = response_head(block) if head.kind == "response" else NO_HEAD
    decoded = decode_body(http, memoryview(block)[http.size :], limit)
    if decoded.cut:
        raise FormatError.translated("the payload has more than %(limit)s bytes", limit=limit)
    return PlacedPayload(bytes(decoded.data), charset_of(http.text(b"content-type")))


@dataclass(frozen=True, slots=True)
class MeasuredImage:
    """Measures of an image, and its bytes."""

    width: int
    height: int
    hash: int | None
    colours: tuple[str, ...]
    content_length: int


ReadAnswer = MeasuredImage | ImagesOfPage | str
"""An image, a page, or in words why a capture cannot be read."""


def read_capture(path: str, capture: Capture, is_page: bool) -> ReadAnswer:
    """Return the content of a capture of an image or a page; its file is at `path`."""
    # Imported here: who only reads pages need not load Pillow.
    from nwx.pictures.measures import measured

    try:
        if is_page:
            page = payload_at(path, capture, PAGE_LIMITS.bytes)
            return images_of_page(page.data, capture.url, capture.content_type, page.charset)
        image = payload_at(path, capture, MOST_IMAGE_BYTES).data
        return MeasuredImage(*measured(image), len(image))
    except (FormatError, SourceError) as error:
        return str(error)
