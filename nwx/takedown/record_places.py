"""Where the records of purged captures lie, kept so that the files can be rewritten later."""

import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from nwx.engine.access.access_index import AccessIndex
from nwx.model import Capture

_STATE = "purged-records-{}"


@dataclass(frozen=True, slots=True, order=True)
class RecordPlace:
    """A record of an archive file that still holds what was purged; `length` as stored."""

    collection: str
    file: str
    offset: int
    length: int | None
    record_type: str


def record_place(capture: Capture) -> RecordPlace:
    """Return where the record of a capture lies."""
    return RecordPlace(
        capture.collection,
        capture.source_file,
        capture.source_file_offset,
        capture.record_length,
        capture.record_type,
    )


def kept_places(access: AccessIndex, rule_id: str) -> list[RecordPlace]:
    """Return the records that purges of a rule have found, in the order of files."""
    state = access.state(_STATE.format(rule_id))
    return [RecordPlace(**one) for one in json.loads(zlib.decompress(state))] if state else []


def keep_places(access: AccessIndex, rule_id: str, places: Iterable[RecordPlace]) -> None:
    """Add records to those that purges of a rule have found."""
    known = kept_places(access, rule_id)
    every = sorted({*known, *places}, key=lambda one: (one.collection, one.file, one.offset))
    if len(every) > len(known):
        text = json.dumps([asdict(one) for one in every])
        access.put_state(_STATE.format(rule_id), zlib.compress(text.encode()))
