"""The fast path for members of one complete record reads the same as the slow one, even damaged."""

import gzip
import io
from collections.abc import Callable

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.warc.gzip_members import GzipMembers
from nwx.warc.members import open_members
from nwx.warc.record import Record
from nwx.warc.scanner import Scanner
from tests.unit.warc.stored_files import http, warc

RECORDS = [
    warc(http(b"<p>%d</p>" % number * (3 + 40 * number)), url=f"http://example.org/{number}")
    for number in range(4)
]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda record: gzip.compress(record, mtime=0),
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}
PIECES = (
    b"",
    b"\r\n\r\n",
    b"\r\n",
    b"\n",
    b"WARC/1.0\r\n",
    b"\0",
    b"x",
    gzip.compress(b"", mtime=0),
    gzip.compress(RECORDS[1], mtime=0),
    RECORDS[0],
    RECORDS[1][:90],
)
EDITS = st.tuples(
    st.integers(0, len(RECORDS) - 1),
    st.sampled_from(("record", "member")),
    st.floats(0, 1),
    st.one_of(st.sampled_from(PIECES), st.binary(max_size=30)),
    st.integers(0, 60),
)


class _LongWay(Scanner):
    def _only_record(self) -> Record | None:
        return None


class _InflatedInPieces(GzipMembers):
    def next_whole(self) -> None:
        return None


def _edited(data: bytes, share: float, piece: bytes, lost: int) -> bytes:
    place = int(share * len(data))
    return data[:place] + piece + data[place + lost :]


def _found(scanner: type[Scanner], data: bytes, keep: int) -> tuple[list[object], list[object]]:
    members = open_members(io.BytesIO(data))
    if scanner is _LongWay and isinstance(members, GzipMembers):
        members = _InflatedInPieces(members.raw)
    reading = scanner(members, keep, lambda record: None)
    records: list[object] = [
        (
            (record.kind, record.format, record.offset, record.length),
            (record.block_length, bytes(record.block)),
            [record.fields.get(name) for name in (b"warc-type", b"warc-target-uri", b"warc-date")],
        )
        for record in reading
    ]
    # The fast path reads ahead, and so reports some of them earlier.
    return records, sorted(
        reading.faults, key=lambda fault: (fault.offset, fault.kind, fault.message)
    )


@given(
    st.sampled_from(sorted(PACKERS)),
    st.lists(EDITS, max_size=3),
    st.integers(1, 3),
    st.sampled_from((100, 1 << 20)),
)
@settings(deadline=None, max_examples=600)
def test_the_short_cut_changes_nothing(
    kind: str, edits: list[tuple[int, str, float, bytes, int]], together: int, keep: int
) -> None:
    records = list(RECORDS)
    for spot, what, share, piece, lost in edits:
        if what == "record":
            records[spot] = _edited(records[spot], share, piece, lost)
    joined = [b"".join(records[:together]), *records[together:]]
    members = [PACKERS[kind](record) for record in joined]
    for spot, what, share, piece, lost in edits:
        if what == "member" and spot < len(members):
            members[spot] = _edited(members[spot], share, piece, lost)
    data = b"".join(members)
    assert _found(Scanner, data, keep) == _found(_LongWay, data, keep)
