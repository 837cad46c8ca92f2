"""Grouping of related records."""

import os
from pathlib import Path

import pytest

from nwx.model import ReadError
from nwx.values.http import Fields
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.record import Record
from nwx.warc.record_groups import (
    MOST_OUTLINKS,
    ExternalBodies,
    Group,
    Outlink,
    has_outlinks,
    record_groups,
    recorded_outlinks,
)
from nwx.warc.sources import ArchiveSource
from tests.warc_records import http_response, warc_bytes, write_records
from tests.warcs import Page


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


# The block of a record by Heritrix 1.14 in a crawl of archive.org, shortened.
HERITRIX = (
    b"seed:\r\nfetchTimeMs: 47\r\n"
    b"outlink: http://www.archive.org/ L a/@href\r\n"
    b"outlink: http://www.archive.org/index.php X =JS_MISC\r\n"
    b"outlink: http://www.archive.org/images/logoc.jpg E img/@src\r\n"
    b"outlink: http://www.archive.org/index.php R meta\r\n\r\n"
)


def metadata(block: bytes, kind: str = "metadata", more: bytes = b"") -> Record:
    lines = b"\nWARC-Target-URI: http://a.example/\nWARC-Date: 2015-01-01T00:00:00Z" + more
    record = Record(kind, "warc", Fields(lines + b"\n"), 7)
    record.block, record.block_length = block, len(block)
    return record


def test_every_line_is_read_in_order() -> None:
    names = b"\nWARC-Concurrent-To: <urn:x:1>\nWARC-Refers-To: <urn:x:2>"
    found = recorded_outlinks(metadata(HERITRIX, more=names))
    assert found.outlinks == (
        Outlink("http://www.archive.org/", "L", "a/@href"),
        Outlink("http://www.archive.org/index.php", "X", "=JS_MISC"),
        Outlink("http://www.archive.org/images/logoc.jpg", "E", "img/@src"),
        Outlink("http://www.archive.org/index.php", "R", "meta"),
    )
    assert (found.offset, found.cut) == (7, False)
    assert found.names == (b"<urn:x:1>", b"<urn:x:2>")
    assert (found.url, found.date) == (b"http://a.example/", b"2015-01-01T00:00:00Z")


def test_only_metadata_with_such_lines_has_outlinks() -> None:
    assert has_outlinks(metadata(HERITRIX))
    assert has_outlinks(metadata(b"outlink: http://b.example/\n"))
    assert not has_outlinks(metadata(HERITRIX, "request"))
    assert not has_outlinks(metadata(b"via: http://a.example/outlink:\r\n"))


def test_odd_lines_are_read_as_far_as_they_go() -> None:
    block = b"outlink:\noutlink:  \xe4.example\noutlink: http://b.example/\xff L\nnot outlink: x\n"
    found = recorded_outlinks(metadata(block))
    assert found.outlinks == (
        Outlink("ä.example", "", ""),
        Outlink("http://b.example/ÿ", "L", ""),
    )


def test_a_flood_is_bounded_and_said_to_be() -> None:
    block = b"".join(b"outlink: http://b.example/%d L a/@href\n" % n for n in range(20_000))
    found = recorded_outlinks(metadata(block))
    assert (len(found.outlinks), found.cut) == (MOST_OUTLINKS, True)
    endless = recorded_outlinks(metadata(b"outlink: http://b.example/" + b"x" * (8 << 20)))
    assert (endless.outlinks, endless.cut) == ((), True)


PAGE = b"<title>Elsewhere</title><p>the text of another file"
HEADER = b"Content-Type: text/html\r\nContent-ID: <x>\r\n\r\nthis is not the body"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    allowed = tmp_path / "payloads"
    (allowed / "below").mkdir(parents=True)
    (allowed / "page.html").write_bytes(PAGE)
    (allowed / "below" / "page two.html").write_bytes(PAGE + b" two")
    (tmp_path / "secret.html").write_bytes(b"secret")
    return allowed


def read(
    folders: list[Path],
    content_type: str,
    block: bytes = HEADER,
    kind: str = "resource",
    **more: str,
) -> tuple[CaptureRecord, list[ReadError]]:
    path = folders[0].parent / "a.warc.gz" if folders else Path(os.devnull)
    record = warc_bytes(kind, block, id="1", content_type=content_type, **more)
    write_records(path, [record])
    source = ArchiveSource(path.name, str(path), None)
    external = ExternalBodies([str(folder) for folder in folders])
    found = list(ArchiveReader(source, "test", external=external, verify=True))
    [capture] = [item for item in found if isinstance(item, CaptureRecord)]
    return capture, [item for item in found if isinstance(item, ReadError)]


@pytest.mark.parametrize(
    "parameters",
    [
        'access-type=local-file; name="page.html"',
        "ACCESS-TYPE=LOCAL-FILE; NAME=./page.html",
        'access-type=local-file; name="{folder}/page.html"; site="thumper.example"',
        'access-type=local-file; name="file:{folder}/page.html"',
        'access-type=URL; URL="file://{folder}/page.html"',
        'access-type=URL; URL*0="file://localhost{folder}/pa"; URL*1="ge.html"',
        "access-type=local-file; name*=us-ascii''%70age.html",
        'access-type=x-warc-file; path="page.html"',
        'access-type=local-file; name="link.html"',
    ],
)
def test_a_payload_is_read_from_the_folder(folder: Path, parameters: str) -> None:
    (folder / "link.html").symlink_to("page.html")
    declared = f"message/external-body; {parameters.format(folder=folder)}"
    found, errors = read([folder], declared)
    assert errors == []
    assert found.payload().data == PAGE
    capture = found.capture
    assert (capture.content_type, capture.content_type_norm) == ("text/html", "html")
    assert capture.digest == Page("", "", PAGE).digest
    assert capture.content_length == len(PAGE)


def test_names_with_blanks_and_folders_below_are_read(folder: Path) -> None:
    declared = 'message/external-body; access-type=URL; url="file:below/page%20two.html"'
    found, errors = read([folder.parent / "none", folder], declared)
    assert (errors, found.payload().data) == ([], PAGE + b" two")


def test_a_response_may_lie_elsewhere_with_its_head(folder: Path) -> None:
    (folder / "answer").write_bytes(http_response(PAGE))
    header = b"Content-Type: application/http; msgtype=response\r\n\r\n"
    declared = "message/external-body; access-type=local-file; name=answer"
    found, errors = read([folder], declared, header, "response")
    assert errors == []
    assert found.payload().data == PAGE
    assert (found.capture.status_code, found.capture.content_type) == (200, "text/html")


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (
            'access-type=local-file; name="/etc/passwd"',
            "'/etc/passwd' is not a file in the folders",
        ),
        ('access-type=URL; URL="file:///etc/passwd"', "'/etc/passwd' is not a file in the folders"),
        ('access-type=local-file; name="../secret.html"', "has a part '..'"),
        ('access-type=local-file; name="below/../page.html"', "has a part '..'"),
        ('access-type=URL; URL="file:%2e%2e/secret.html"', "has a part '..'"),
        ('access-type=local-file; name="out.html"', "is not a file in the folders"),
        ('access-type=local-file; name="outside/secret.html"', "is not a file in the folders"),
        ('access-type=local-file; name="missing.html"', "is not a file in the folders"),
        ('access-type=local-file; name="below"', "is not a regular file"),
        ('access-type=local-file; name="pipe"', "is not a regular file"),
        ('access-type=local-file; name="."', "is not a file in the folders"),
        ("access-type=local-file", "has no file name"),
        ('access-type=URL; URL="http://a.example/page"', "nothing is fetched"),
        ('access-type=URL; URL="file://other.example/page.html"', "nothing is fetched"),
        ('access-type=anon-ftp; name="page.html"; site="a.example"', "not that of a local file"),
        ('name="page.html"', "not that of a local file"),
        ("access-type=local-file; name*=us-ascii''page%00.html", "not a valid file name"),
        ("access-type=local-file; name*=utf-7''+2AA-", "not a valid file name"),
        ("access-type=local-file; name*=undefined''page.html", "parameter 'name' cannot be read"),
        (f"access-type=local-file; name*{'1' * 5_000}=x", "cannot be read"),
    ],
)
def test_everything_else_is_refused_with_a_reason(
    folder: Path, parameters: str, reason: str
) -> None:
    (folder / "out.html").symlink_to(folder.parent / "secret.html")
    (folder / "outside").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe")
    found, [error] = read([folder], f"message/external-body; {parameters}")
    assert (error.kind, error.file, error.offset) == ("external", "a.warc.gz", 0)
    assert reason in error.message
    assert found.capture.content_type == "message/external-body"


def test_nothing_is_read_unless_a_folder_is_named(folder: Path) -> None:
    declared = f"message/external-body; access-type=local-file; name={folder}/page.html"
    record = warc_bytes("resource", HEADER, id="1", content_type=declared)
    path = write_records(folder.parent / "a.warc.gz", [record])
    source = ArchiveSource(path.name, str(path), None)
    error, found = ArchiveReader(source, "test", external=ExternalBodies(()))
    assert isinstance(error, ReadError)
    assert "name its folder as external" in error.message
    assert isinstance(found, CaptureRecord)


def test_digests_and_codings_of_payloads_are_looked_at(folder: Path) -> None:
    declared = "message/external-body; access-type=local-file; name=page.html"
    _, [error] = read([folder], declared, **{"WARC-Payload-Digest": Page("", "").digest})
    assert (error.kind, "payload digest" in error.message) == ("digest", True)
    _, [error] = read([folder], declared, b"Content-Transfer-Encoding: base64\r\n\r\n")
    assert "transfer encoding 'base64'" in error.message


def test_a_long_payload_is_hashed_whole_and_kept_in_part(folder: Path) -> None:
    body = b"x" * (20 << 20)
    (folder / "page.html").write_bytes(body)
    declared = "message/external-body; access-type=local-file; name=page.html"
    found, errors = read([folder], declared)
    assert errors == []
    assert found.capture.digest == Page("", "", body).digest
    assert found.capture.content_length == len(body)
    assert found.payload().truncated
