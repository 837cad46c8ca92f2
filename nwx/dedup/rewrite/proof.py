"""The proof that a file written anew replays to the same payloads as the old one."""

import hashlib
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

from nwx.errors import FormatError
from nwx.model import Capture
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.revisit_records import WarcLocation, payload_hash
from nwx.warc.sources import ArchiveSource

_BLOCK_BYTES = 1 << 20

Find = Callable[[str, str, str], WarcLocation | None]
"""Returns where the capture of a URL, timestamp and digest lies that revisits may refer to."""


def prove(old: ArchiveSource, new: Path, find: Find) -> None:
    """Raise FormatError unless each capture in `new` replays to the payload of that in `old`.

    Both are read again from disk. A record is to be there byte for byte; a
    revisit in its place, to lead by what it says itself to the same payload.
    """
    pairs = zip_longest(
        replayed_captures(old), replayed_captures(ArchiveSource(old.name, str(new), None))
    )
    for was, now in pairs:
        if was is None or now is None or _identity(was) != _identity(now):
            found = now or was
            raise FormatError(f"the capture at {found and found.source_file_offset} is another")
        if was.record_type == now.record_type:
            good = _stored(old.path, was) == _stored(str(new), now)
        else:
            found = find(now.refers_to_url, now.refers_to_timestamp, now.digest)
            good = found is not None and payload_hash(found) == payload_hash(
                location_of(old.path, was)
            )
        if not good:
            raise FormatError(f"the capture at {was.source_file_offset} would replay differently")


def replayed_captures(source: ArchiveSource) -> Iterator[Capture]:
    """Stream the captures of a file whose records can be told from one another."""
    for found in ArchiveReader(source, "", keep=lambda capture: False):
        if isinstance(found, CaptureRecord) and found.capture.record_length:
            yield found.capture


def location_of(path: str, capture: Capture) -> WarcLocation:
    """Return the place of a capture in the file at `path`."""
    return WarcLocation(
        path,
        capture.source_file_offset,
        capture.record_length or 0,
        capture.url,
        capture.timestamp,
        capture.digest,
    )


def _identity(capture: Capture) -> tuple[str, str, str]:
    return capture.url, capture.timestamp, capture.digest


def _stored(path: str, capture: Capture) -> bytes:
    """Return a hash of the stored bytes of a record."""
    left, digest = capture.record_length or 0, hashlib.sha256()
    with Path(path).open("rb") as handle:
        handle.seek(capture.source_file_offset)
        while left and (block := handle.read(min(_BLOCK_BYTES, left))):
            digest.update(block)
            left -= len(block)
    return digest.digest()
