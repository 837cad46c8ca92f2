"""Damage of any kind to one record affects no other record; compared with FastWARC."""

import gzip
import io
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate

import zstandard
from fastwarc.warc import ArchiveIterator
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.wacz import WaczMember, open_member, wacz_members
from tests.unit.warc.stored_files import Stored, http, warc

COUNT = 6
URLS = [f"http://example.org/{number}" for number in range(COUNT)]
RECORDS = [
    warc(http(b"<p>%d</p>" % number * (5 + 20 * number)), url=url)
    for number, url in enumerate(URLS)
]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda record: gzip.compress(record, mtime=0),
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "plain": lambda record: record,
}
LENGTH = re.compile(rb"Content-Length: \d+")


def _flipped(member: bytes, place: int, data: bytes) -> bytes:
    return member[:place] + bytes([member[place] ^ (data[0] or 1)]) + member[place + 1 :]


DAMAGES: dict[str, Callable[[bytes, int, bytes], bytes]] = {
    "flipped": _flipped,
    "cut": lambda member, place, data: member[:place],
    "cut in front": lambda member, place, data: member[place:],
    "cut out": lambda member, place, data: member[:place] + member[place + len(data) :],
    "overwritten": lambda member, place, data: member[:place] + data + member[place + len(data) :],
    "zeroed": lambda member, place, data: member[:place] + bytes(len(member) - place),
    "inserted": lambda member, place, data: member[:place] + data + member[place:],
    "doubled": lambda member, place, data: member[:place] + member,
    "swapped": lambda member, place, data: member[place:] + member[:place],
}
KINDS = st.sampled_from(sorted(PACKERS))
SPOTS = st.integers(0, COUNT - 2)  # nothing follows the last record that could be lost


def _urls(data: bytes) -> set[str]:
    found = ArchiveReader(Stored(data), "test")
    return {item.capture.url for item in found if isinstance(item, CaptureRecord)}


@given(KINDS, SPOTS, st.sampled_from(sorted(DAMAGES)), st.floats(0, 0.999), st.binary(min_size=1))
@example("gzip", 0, "inserted", 0.0, b"P*M\x18")  # the start of a skippable zstd frame
@settings(deadline=None, max_examples=400)
def test_damage_to_a_record_costs_no_other(
    kind: str, spot: int, damage: str, share: float, data: bytes
) -> None:
    members = [PACKERS[kind](record) for record in RECORDS]
    place = int(share * len(members[spot]))
    members[spot] = DAMAGES[damage](members[spot], place, data)
    assert _urls(b"".join(members)) >= {*URLS} - {URLS[spot]}


def _are_contents(records: list[bytes], lie: bytes, length: int) -> bool:
    """Return whether the length makes complete records the content of one, which may be valid."""
    starts = list(accumulate(map(len, records), initial=0))
    ends = [
        starts[place] + lie.index(b"\r\n\r\n") + 4 + length
        for place, record in enumerate(records)
        if record is lie
    ]
    return any(start - 4 <= end <= start for start in starts[2:] for end in ends)


@given(KINDS, SPOTS, st.one_of(st.integers(0, 3000), st.integers(0, 10**19)), st.booleans())
@settings(deadline=None, max_examples=200)
def test_a_lying_length_costs_nothing(kind: str, spot: int, length: int, doubled: bool) -> None:
    lie = LENGTH.sub(b"Content-Length: %d" % length, RECORDS[spot], count=1)
    records = [*RECORDS[:spot], lie, *RECORDS[spot + 1 :]]
    if doubled:
        records.insert(spot, lie)
    assume(kind != "plain" or not _are_contents(records, lie, length))
    assert _urls(b"".join(map(PACKERS[kind], records))) == {*URLS}


@given(SPOTS, st.floats(0, 0.999), st.binary(min_size=1, max_size=50))
@settings(deadline=None)
def test_what_a_second_reader_finds_is_found(spot: int, share: float, data: bytes) -> None:
    members = [PACKERS["gzip"](record) for record in RECORDS]
    place = int(share * len(members[spot]))
    members[spot] = members[spot][:place] + data + members[spot][place:]
    damaged = b"".join(members)
    found: set[str | None] = set()
    with suppress(OSError):  # it stops at damage
        for record in ArchiveIterator(io.BytesIO(damaged), parse_http=False, strict_mode=False):
            found.add(record.headers.get("WARC-Target-URI"))
    assert _urls(damaged) >= found & {*URLS}


@given(KINDS, st.floats(0, 0.999))
@settings(deadline=None)
def test_one_wrong_byte_in_a_wacz_costs_one_record(kind: str, share: float) -> None:
    content = b"".join(map(PACKERS[kind], RECORDS))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/a.warc", content)
    data = bytearray(out.getvalue())
    data[data.index(content) + int(share * len(content))] ^= 0x55
    (member,) = wacz_members(io.BytesIO(bytes(data)), "x.wacz")
    assert isinstance(member, WaczMember)
    with open_member(io.BytesIO(bytes(data)), member.name, member.places) as stream:
        assert len(_urls(stream.read())) >= COUNT - 1
