"""Which records belong together."""

from nwx.values.http import Fields
from nwx.warc.record import Record
from nwx.warc.record_groups import Group, record_groups


def record(
    kind: str, name: str, offset: int, concurrent: str = "", url: str = "u", block: bytes = b""
) -> Record:
    lines = [
        "",
        f"WARC-Record-ID: {name}",
        f"WARC-Target-URI: http://a.example/{url}",
        "WARC-Date: 2020-01-01T00:00:00Z",
    ]
    if concurrent:
        lines.append(f"WARC-Concurrent-To: {concurrent}")
    fields = Fields("\r\n".join([*lines, ""]).encode())
    made = Record(kind, "WARC/1.1", fields, offset)
    made.block, made.block_length = block, len(block)
    return made


def grouped(*records: Record) -> list[Group]:
    return list(record_groups(records))


def test_a_request_before_and_metadata_behind_belong_to_their_capture() -> None:
    (group,) = grouped(
        record("warcinfo", "w", 0),
        record("request", "q", 1, "r"),
        record("response", "r", 2),
        record("metadata", "m", 3, "r"),
    )
    assert group.capture is not None
    assert group.capture.offset == 2
    assert [one.kind for one in group.beside] == ["request", "metadata"]
    assert group.kinds == ["warcinfo", "request", "response", "metadata"]
    assert (group.offset, group.last_offset, group.next_offset) == (0, 3, None)


def test_each_capture_is_a_group_of_its_own() -> None:
    first, second = grouped(record("response", "a", 0), record("response", "b", 9, url="v"))
    assert (first.next_offset, second.offset) == (9, 9)


def test_a_request_of_another_capture_is_not_taken() -> None:
    first, second = grouped(
        record("request", "q", 0, "x", url="other"),
        record("response", "a", 1),
        record("request", "p", 2, "b", url="v"),
        record("response", "b", 3, url="v"),
    )
    assert first.beside == []
    assert [one.offset for one in second.beside] == [2]


def test_records_without_a_capture_are_a_group_too() -> None:
    (group,) = grouped(record("warcinfo", "w", 0), record("metadata", "m", 5))
    assert group.capture is None
    assert group.kinds == ["warcinfo", "metadata"]


def test_pending_records_are_bounded() -> None:
    many = [record("metadata", f"m{n}", n, url=f"{n}") for n in range(1000)]
    (group,) = grouped(*many)
    assert len(group.beside) <= 8


OUTLINKS = b"outlink: http://b.example/ L a/@href\r\n"


def test_all_metadata_of_a_capture_belongs_to_it() -> None:
    (group,) = grouped(
        record("response", "r", 0),
        record("metadata", "m", 1, "r", block=OUTLINKS),
        record("metadata", "n", 2, "r", block=OUTLINKS),
    )
    assert [one.offset for one in group.beside] == [1, 2]
    assert group.apart == []


def test_outlinks_of_other_captures_are_kept_apart() -> None:
    groups = grouped(
        record("response", "a", 0),
        record("response", "b", 1, url="v"),
        record("metadata", "m", 2, "a", url="x", block=OUTLINKS),
        record("metadata", "n", 3, "c", url="y", block=b"via: z"),
        record("response", "c", 4, url="w"),
        record("metadata", "o", 5, "b", url="z", block=OUTLINKS),
    )
    assert [[one.offset for one in group.apart] for group in groups] == [[], [], [2], [5]]
    assert groups[2].apart[0].names == (b"a",)


def test_a_file_of_metadata_alone_is_read_in_bounded_memory() -> None:
    many = [record("metadata", f"m{n}", n, url=f"{n}", block=OUTLINKS) for n in range(1000)]
    groups = grouped(*many)
    assert max(len(group.apart) for group in groups) <= 24
    apart = [one.offset for group in groups for one in group.apart]
    assert apart == list(range(1000))
    assert sum(len(group.kinds) for group in groups) == 1000
