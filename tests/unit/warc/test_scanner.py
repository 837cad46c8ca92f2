"""Damaged and hostile archive files: intact records are read, damage is reported."""

import gzip
import io
import os
import random
import zlib

import pytest
import zstandard

from nwx.model import ReadError
from nwx.warc.members import record_at
from nwx.warc.reader import ArchiveReader, CaptureRecord, ReadLimits
from tests.unit.warc.stored_files import Piped, Stored, http, pages, read, warc, zipped

PAGE = http(b"<p>hello</p>")
COMPRESS = {
    "gzip": lambda record: gzip.compress(record, mtime=0),
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "plain": lambda record: record,
}
packed = pytest.mark.parametrize("kind", COMPRESS)


def _members(kind: str, count: int = 10) -> list[bytes]:
    return [COMPRESS[kind](record) for record in pages(count)]


def _numbers(captures: list[CaptureRecord]) -> list[int]:
    return [int(found.capture.url.rpartition("/")[2]) for found in captures]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_member_damaged_in_the_middle_costs_no_other(kind: str) -> None:
    members = _members(kind)
    broken = bytearray(members[4])
    broken[30:60] = b"\xff" * 30
    members[4] = bytes(broken)
    captures, errors = read(b"".join(members))
    assert [n for n in _numbers(captures) if n != 4] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert {error.kind for error in errors} <= {kind, "header", "length"}
    assert errors[0].kind == kind
    assert errors[0].offset == sum(map(len, members[:4]))


@packed
def test_a_file_cut_off_gives_all_before_the_cut(kind: str) -> None:
    data = b"".join(_members(kind))
    captures, errors = read(data[:-40])
    assert _numbers(captures)[:9] == list(range(9))
    assert errors
    assert errors[-1].offset == len(b"".join(_members(kind, 9)))


def _with_dictionary(records: list[bytes]) -> bytes:
    dictionary = zstandard.train_dictionary(
        4096, [bytes([n]) * 20 + r for n in range(9) for r in records]
    )
    stored = dictionary.as_bytes()
    pack = zstandard.ZstdCompressor(dict_data=dictionary).compress
    frame = b"\x5d\x2a\x4d\x18" + len(stored).to_bytes(4, "little") + stored
    return frame + b"".join(map(pack, records))


FILES = {kind: b"".join(map(COMPRESS[kind], pages())) for kind in COMPRESS} | {
    "one gzip member": gzip.compress(b"".join(pages()), mtime=0) * 2,
    "a dictionary": _with_dictionary(pages()),
}
FRONTS = {
    "its first byte": lambda data: b"\xff" + data[1:],
    "its second byte": lambda data: data[:1] + b"\xff" + data[2:],
    "its third byte": lambda data: data[:2] + b"\xff" + data[3:],
    "a NUL in front": lambda data: b"\0" + data,
    "a newline in front": lambda data: b"\n" + data,
    "its first byte cut off": lambda data: data[1:],
    "three bytes cut off": lambda data: data[3:],
    "garbage in front": lambda data: (
        b"\n\0 garbage \x1f\x8b\x08 WARC/1.0 \x28\xb5\x2f\xfd" * 2_000 + data
    ),
}


DAMAGED = [(kind, front) for kind in FILES for front in FRONTS if kind != "a dictionary"] + [
    ("a dictionary", "its first byte"),
    ("a dictionary", "its second byte"),
]


@pytest.mark.parametrize(("kind", "front"), DAMAGED)
def test_a_damaged_front_costs_no_more_than_the_first_member(kind: str, front: str) -> None:
    data = FRONTS[front](FILES[kind])
    captures, errors = read(data)
    assert _numbers(captures)[-9:] == list(range(1, 10))
    assert errors or front in ("a newline in front", "a NUL in front")
    resumed = captures[-5]
    rest, _ = read(data, start=resumed.resume_at)
    assert _numbers(rest)[-4:] == [6, 7, 8, 9]
    if kind != "one gzip member":
        assert len(rest) == 4
        record = record_at(io.BytesIO(data), resumed.capture.source_file_offset)
        assert record is not None
        assert b"/5\r\n" in record.read(200)
    piped = list(ArchiveReader(_Pipe(data), "test"))
    assert [item.capture for item in piped if isinstance(item, CaptureRecord)] == [
        item.capture for item in captures
    ]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
@pytest.mark.parametrize("cut", [20, 60, 200])
def test_a_file_that_begins_in_the_middle_of_a_member_gives_the_next(kind: str, cut: int) -> None:
    captures, errors = read(b"".join(_members(kind))[cut:])
    assert _numbers(captures)[-8:] == list(range(2, 10))
    assert errors[0].offset == 0


def test_places_in_question_are_looked_at_in_little_time() -> None:
    """A gzip header with all its optional fields at every third byte."""
    captures, _ = read(zipped(*pages(1))[:50] + b"\x1f\x8b\x08" * 100_000 + zipped(*pages(2)))
    assert _numbers(captures)[-2:] == [0, 1]


@packed
def test_garbage_between_records_is_told_and_passed_over(kind: str) -> None:
    members = _members(kind)
    members.insert(5, b"garbage \x1f\x8b\x08\x00 WARC/1.0 and more of it\n" * 20)
    captures, errors = read(b"".join(members))
    assert _numbers(captures) == list(range(10))
    assert len(errors) == 1


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_garbage_inside_a_good_member_is_told(kind: str) -> None:
    members = _members(kind)
    members.insert(5, COMPRESS[kind](b"no record at all\n" * 100))
    captures, errors = read(b"".join(members))
    assert _numbers(captures) == list(range(10))
    assert [(error.kind, error.offset) for error in errors] == [
        ("header", len(b"".join(members[:5])))
    ]


@packed
@pytest.mark.parametrize("length", ["", "x", "-1", "1e3", "9" * 30, "12 34"])
def test_a_length_that_cannot_be_true_costs_no_other_record(kind: str, length: str) -> None:
    records = [*pages(2), warc(PAGE, length=length, url="http://example.org/2"), *pages(2)]
    captures, errors = read(b"".join(COMPRESS[kind](record) for record in records))
    assert _numbers(captures) == [0, 1, 2, 0, 1]
    assert [error.kind for error in errors] == ["length"]
    assert captures[2].payload().data == b"<p>hello</p>"


@packed
@pytest.mark.parametrize("wrong", [-30, -11, -1, 1, 3, 4, 5, 20, 60, 500, 10_000, 10**15])
def test_a_lying_length_costs_no_other_record(kind: str, wrong: int) -> None:
    lying = warc(PAGE, length=len(PAGE) + wrong, url="http://example.org/2")
    records = [*pages(2), lying, *pages(4)]
    captures, errors = read(b"".join(COMPRESS[kind](record) for record in records))
    assert _numbers(captures) == [0, 1, 2, 0, 1, 2, 3]
    if abs(wrong) > 4:
        assert errors
        assert errors[0].kind == "length"


def test_a_lying_length_costs_no_other_record_where_one_member_holds_all() -> None:
    lying = warc(PAGE, length=10**9, url="http://example.org/2")
    captures, errors = read(gzip.compress(b"".join([*pages(2), lying, *pages(4)]), mtime=0))
    assert _numbers(captures) == [0, 1, 2, 0, 1, 2, 3]
    assert [error.kind for error in errors] == ["length"]


def test_a_file_made_of_lies_takes_no_more_than_a_few_times_its_reading() -> None:
    """Each record claims the rest of the file; searching it each time would take hours."""
    record = warc(b"", length=10**9)
    data = record * 4000
    captures, errors = read(data)
    assert captures
    assert errors


@packed
def test_a_version_line_that_is_damaged_costs_its_record_only(kind: str) -> None:
    members = [
        COMPRESS[kind](record.replace(b"WARC/1.0", b"WORC/1.0") if number == 4 else record)
        for number, record in enumerate(pages())
    ]
    captures, errors = read(b"".join(members))
    assert _numbers(captures) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert len(errors) == 1


@packed
@pytest.mark.parametrize(
    ("damaged", "kind_of_error"),
    [
        (warc(PAGE, date="yesterday"), "date"),
        (warc(PAGE, date="2010abc"), "date"),
        (warc(PAGE, date=""), "date"),
        (warc(PAGE, url=""), "url"),
        (warc(PAGE, url="http://example.org/" + "x" * 100_000), "url"),
        (warc(PAGE, url="http://example.org/%" + "25" * 5000), "url"),
        (warc(PAGE, url="http://example.org:99999999/"), "url"),
    ],
)
def test_a_record_that_cannot_be_found_again_is_an_error(
    kind: str, damaged: bytes, kind_of_error: str
) -> None:
    data = b"".join(COMPRESS[kind](record) for record in [*pages(2), damaged, *pages(1)])
    captures, errors = read(data)
    assert _numbers(captures) == [0, 1, 0]
    assert [error.kind for error in errors] == [kind_of_error]
    assert len(errors[0].message) < 300


def test_control_characters_and_broken_utf8_in_heads_do_no_harm() -> None:
    record = warc(http(b"x", "Content-Type: text/html\xff\x00"), X_Odd="\x00\x01 \x1b[2J")
    record = record.replace(b"www.example.org/", b"www.example.org/\xff\x00\x07")
    (found,), errors = read(zipped(record))
    assert not errors
    assert found.capture.url == "http://www.example.org/ÿ%00%07"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\n\n\n", "no WARC or ARC record"),
        (b"<html>a page</html>\n" * 1000, "no WARC or ARC record"),
        (gzip.compress(b"just text", mtime=0), "no WARC or ARC record"),
        (gzip.compress(b"", mtime=0), "no WARC or ARC record"),
        (b"\x1f\x8b", "no WARC or ARC record"),
        (b"\x28\xb5\x2f\xfd", "no WARC or ARC record"),
        (b"\x28\xb5\x2f\xfd" * 1000, "no WARC or ARC record"),
        (b"\x5d\x2a\x4d\x18\xff\xff\xff\xff", "no WARC or ARC record"),
        (b"PK\x03\x04" + b"\0" * 100, "no WARC or ARC record"),
        (b"WARC/1.0", "no WARC or ARC record"),
        (b"WARC/1.0\r\n" * 1000, "no WARC or ARC record"),
        (b"\0" * 100_000, "no WARC or ARC record"),
    ],
)
def test_a_file_that_is_no_archive_is_one_error(data: bytes, words: str) -> None:
    captures, errors = read(data)
    assert not captures
    assert [error.kind for error in errors] == ["format"]
    assert words in errors[0].message


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_bomb_in_a_member_is_read_in_little_memory(kind: str) -> None:
    import tracemalloc

    bomb = COMPRESS[kind](warc(http(b"\0" * (64 << 20))))
    assert len(bomb) < 1 << 20
    limits = ReadLimits(body_bytes=1 << 20, payload_bytes=1 << 20)
    tracemalloc.start()
    captures, errors = read(bomb + COMPRESS[kind](pages(1)[0]), limits=limits)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(captures), errors) == (2, [])
    assert captures[0].capture.content_length == 64 << 20
    assert captures[0].payload().truncated
    assert peak < 8 << 20


def test_a_bomb_of_blanks_between_records_is_gone_over() -> None:
    data = zipped(pages(1)[0], b"\r\n" * (8 << 20), pages(2)[1])
    captures, errors = read(data)
    assert (_numbers(captures), errors) == ([0, 1], [])


def test_wrong_checksums_of_members_are_told() -> None:
    first, second, third = (gzip.compress(record, mtime=0) for record in pages(3))
    wrong = second[:-8] + bytes(4) + second[-4:]
    captures, errors = read(first + wrong + third)
    assert _numbers(captures) == [0, 1, 2]
    assert [error.kind for error in errors] == ["gzip"]


def test_gzip_members_with_names_and_extra_fields_are_read() -> None:
    data = b""
    for record in pages(3):
        deflated = zlib.compress(record)[2:-4]
        tail = zlib.crc32(record).to_bytes(4, "little") + len(record).to_bytes(4, "little")
        head = b"\x1f\x8b\x08\x0c\0\0\0\0\0\xff" + b"\x0a\0sl\x06\0abcdef" + b"a name\0"
        data += head + deflated + tail
    captures, errors = read(data)
    assert (_numbers(captures), errors) == ([0, 1, 2], [])


@packed
def test_errors_come_with_the_captures_they_belong_to(kind: str) -> None:
    """Stopping at a capture and resuming there reports every error once."""
    good, bad = pages(1)[0], warc(PAGE, date="yesterday")
    data = b"".join(COMPRESS[kind](record) for record in [bad, good, bad, good, good, bad])
    whole = list(ArchiveReader(Stored(data), "test"))
    for stop, done in enumerate(whole, 1):
        if isinstance(done, CaptureRecord):
            rest = list(ArchiveReader(Stored(data), "test", start=done.resume_at))
            again = [found for found in rest if isinstance(found, ReadError)]
            assert again == [found for found in whole[stop:] if isinstance(found, ReadError)]


@packed
@pytest.mark.parametrize("seed", range(40))
def test_chance_damage_never_raises_and_spares_what_it_does_not_touch(kind: str, seed: int) -> None:
    chance = random.Random(seed)
    members = _members(kind)
    spot = chance.randrange(2, 8)
    member = bytearray(members[spot])
    match chance.randrange(4):
        case 0:
            for _ in range(chance.randrange(1, 20)):
                member[chance.randrange(len(member))] = chance.randrange(256)
        case 1:
            del member[chance.randrange(len(member)) :]
        case 2:
            place = chance.randrange(len(member))
            member[place:place] = chance.randbytes(chance.randrange(1, 500))
        case 3:
            del member[: chance.randrange(len(member))]
    members[spot] = bytes(member)
    data = b"".join(members)
    for source in (Stored(data), _Pipe(data)):
        found = list(ArchiveReader(source, "test", verify=True, keep=lambda capture: True))
        captures = [item for item in found if isinstance(item, CaptureRecord)]
        for item in captures:
            item.payload()
        urls = {item.capture.url for item in captures}
        assert {f"http://example.org/{n}" for n in range(10) if n != spot} <= urls


class _Pipe(Stored):
    def open(self) -> Piped:
        return Piped(self.data)


@pytest.mark.parametrize("seed", range(30))
def test_noise_behind_any_magic_never_raises(seed: int) -> None:
    noise = random.Random(seed).randbytes(5000)
    for magic in (
        b"",
        b"\x1f\x8b\x08\0",
        b"\x28\xb5\x2f\xfd",
        b"\x5d\x2a\x4d\x18",
        b"WARC/1.0\r\n",
    ):
        captures, errors = read(magic + noise)
        assert not captures
        assert errors


def test_the_end_of_a_pipe_closed_early_is_told() -> None:
    captures, errors = read(zipped(*pages())[:-3] + os.urandom(0))
    assert _numbers(captures) == list(range(10))
    assert [error.kind for error in errors] == ["gzip"]
