"""The captures that playback scores are about, many looked up at once."""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.keys import capture_id
from nwx.model import Capture

_AT_ONCE = 200
_MOST_NEAR = 20


class CaptureMark(NamedTuple):
    """What a capture is found again by: its id, its urlkey, and its timestamp (14 digits)."""

    id: str
    urlkey: str
    timestamp: str


def marked_captures(engine: Engine, marks: Iterable[CaptureMark]) -> dict[str, Capture]:
    """Return captures by id, in the order of the marks; those that are gone are left out."""
    found: dict[str, Capture] = {}
    waiting = iter(marks)
    while batch := list(islice(waiting, _AT_ONCE)):
        asked = [KeysAtTime((one.urlkey,), one.timestamp) for one in batch]
        for one, near in zip(batch, engine.captures_near(asked, _MOST_NEAR), strict=True):
            capture = _with_id(near, one.id)
            if capture is None:  # there may be more of that second, or the urlkey is too long
                capture = _with_id(engine.captures(one.urlkey), one.id)
            if capture is not None:
                found[one.id] = capture
    return found


def _with_id(captures: Iterable[Capture], id: str) -> Capture | None:
    return next((one for one in captures if _id(one) == id), None)


def _id(capture: Capture) -> str:
    return capture_id(capture.collection, capture.source_file, capture.source_file_offset)
