"""Where an index is cut into shards."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from nwx.cdx.zipnum_index import block_key
from nwx.errors import SourceError, UsageError

_MOST_BYTES = 1 << 26


def read_splits(path: Path) -> list[bytes]:
    """Return the split points in a file, one a line, as any maker of clusters writes them.

    Raises SourceError where it cannot be read, UsageError where it is not
    in order.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise SourceError(f"{path} is too large for a file of split points")
    points = [block_key(line.rstrip(b"\r")) for line in content.split(b"\n") if line.strip()]
    for number, (one, other) in enumerate(pairwise(points), 2):
        if one >= other:
            raise UsageError(f"{path}: split point {number} is not behind the one before")
    return points


def format_splits(points: Sequence[bytes]) -> bytes:
    """Return the content of a file of split points."""
    return b"".join(point + b"\n" for point in points)
