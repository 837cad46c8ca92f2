"""The payloads of images and pages, read from the archive's files by their places."""

from typing import NamedTuple

from nwx.errors import ErrorText, FormatError
from nwx.model import Capture
from nwx.quality.stored_blocks import block_at
from nwx.values.http import NO_HEAD, charset_of, decode_body, response_head
from nwx.warc.sources import ArchiveSource


class PlacedPayload(NamedTuple):
    """A payload without its content codings, and the charset of its HTTP head."""

    data: bytes
    charset: str


def payload_at(path: str, capture: Capture, limit: int) -> PlacedPayload:
    """Return the payload of a capture whose file lies at a path.

    Raises SourceError where the file cannot be read, and FormatError where
    another record or a damaged one is in its place, or a longer payload than
    `limit`.
    """
    member = capture.source_file.partition("#")[2]
    source = ArchiveSource(capture.source_file, path, None, member)
    offset = capture.source_file_offset
    head, block, _ = block_at(source, offset, limit, lambda uri: uri == capture.url)
    http = response_head(block) if head.kind == "response" else NO_HEAD
    decoded = decode_body(http, memoryview(block)[http.size :], limit)
    if decoded.cut:
        raise FormatError(ErrorText("the payload has more than %(limit)s bytes", limit=limit))
    return PlacedPayload(bytes(decoded.data), charset_of(http.text(b"content-type")))
