"""Messages of a worker for a file, without its process."""

import json
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nwx.importing.collector import Lookups, Memory
from nwx.importing.messages import FilePart, FileTask, Outcome, Verdict
from nwx.importing.options import ImportOptions
from nwx.importing.worker import import_file
from nwx.keys import document_id, document_key, precedence
from nwx.model import UNREADABLE, Capture, Extract, SourceFile
from nwx.warc.sources import ArchiveSource, expand
from tests.warc_records import warc_bytes, write_records
from tests.warcs import Page, html, many_pages, write_warc

FIRST = Page("http://a.example/", "20150101000000", html("A", "first text"))


class Archive:
    """The part of an engine that a worker uses, with a record of its calls."""

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self.held = dict(known or {})
        self.asked: list[str] = []
        self.extracted: list[int] = []

    def known(self, ids: Collection[str]) -> dict[str, int]:
        self.asked += ids
        return {id: self.held[id] for id in ids if id in self.held}

    @contextmanager
    def guard(self, offset: int) -> Iterator[None]:
        self.extracted.append(offset)
        yield


def read(
    path: Path,
    archive: Archive | None = None,
    entry: SourceFile | None = None,
    without_text: Mapping[int, str] | None = None,
    memory: Memory | None = None,
) -> tuple[list[FilePart], Verdict]:
    """Return the parts of a file and the verdict."""
    archive = archive or Archive()
    source = ArchiveSource(path.name, str(path), path.stat().st_size)
    task = FileTask(source, str(path), entry, without_text or {})
    *parts, verdict = import_file(
        task,
        ImportOptions(),
        Lookups(archive.known, memory=memory or Memory()),
        archive.guard,
        lambda _: None,
    )
    assert isinstance(verdict, Verdict)
    return [part for part in parts if isinstance(part, FilePart)], verdict


def key_of(page: Page) -> str:
    return document_key(page.url, page.digest)


def test_each_version_is_one_document_and_each_capture_one_date(tmp_path: Path) -> None:
    again = replace(FIRST, timestamp="20160101000000")
    revisit = replace(FIRST, timestamp="20170101000000", revisit=True)
    changed = replace(FIRST, timestamp="20180101000000", body=html("A", "second text"))
    parts, verdict = read(write_warc(tmp_path / "a.warc.gz", [again, revisit, FIRST, changed]))
    [part] = parts
    assert verdict == Verdict(Outcome.IMPORTED)
    documents = {d.capture.timestamp: d.extract.content for d in part.batch.documents}
    assert documents == {"20150101000000": "first text", "20180101000000": "second text"}
    dates = {dates.key: [when for when, _ in dates.seen] for dates in part.batch.dates}
    assert dates == {
        key_of(FIRST): ["20150101000000", "20160101000000", "20170101000000"],
        key_of(changed): ["20180101000000"],
    }
    assert len(part.batch.captures) == 4
    assert part.candidates == 4
    assert part.records == {"response": 3, "revisit": 1}


def test_what_the_archive_holds_is_not_extracted_again(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", [FIRST])
    [new], _ = read(path)
    rank = precedence(new.batch.documents[0].capture)
    id = document_id(key_of(FIRST))
    archive = Archive({id: rank})
    [part], _ = read(path, archive)
    assert archive.asked == [id]
    assert archive.extracted == []
    assert part.batch.documents == ()
    assert [dates.key for dates in part.batch.dates] == [key_of(FIRST)]
    later = Archive({id: rank - 1})
    [part], _ = read(path, later)
    assert len(part.batch.documents) == 1, "an earlier capture takes the document over"


@pytest.mark.parametrize(
    ("url", "document"),
    [
        ("http://a.example/", True),
        ("HTTPS://a.example/", True),
        ("ftp://a.example/file", True),
        ("dns:a.example", False),
        ("whois:a.example", False),
        ("urn:pageinfo:http://a.example/", False),
    ],
)
def test_only_what_people_browse_makes_a_document(tmp_path: Path, url: str, document: bool) -> None:
    [part], _ = read(write_warc(tmp_path / "a.warc.gz", [replace(FIRST, url=url)]))
    assert len(part.batch.captures) == 1
    assert len(part.batch.dates) == 1
    assert len(part.batch.documents) == part.candidates == int(document)


def test_a_record_left_out_makes_a_document_without_text(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", [FIRST])
    archive = Archive()
    [part], verdict = read(path, archive, without_text={0: "extraction took longer than 1 s"})
    assert archive.extracted == []
    [document] = part.batch.documents
    assert document.extract.content == ""
    assert document.extract.problems == ("extraction took longer than 1 s",)
    [error] = part.errors
    assert (error.file, error.offset, error.kind) == ("a.warc.gz", 0, "extract")
    assert verdict.outcome is Outcome.IMPORTED


def test_the_ledger_entry_tells_what_the_file_held(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", many_pages(9))
    [part], _ = read(path)
    [entry] = part.batch.files
    assert entry.finished
    assert entry.done_to == entry.size == path.stat().st_size == part.bytes
    assert entry.path == str(path)
    assert entry.counts == {"response": 10, "revisit": 2, "captures": 12, "errors": 0}


def test_an_import_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_warc(tmp_path / "a.warc.gz", many_pages(30))
    [whole], _ = read(path)
    monkeypatch.setattr("nwx.importing.collector._PART_CAPTURES", 7)
    parts, _ = read(path)
    assert len(parts) == 6
    for stopped in range(len(parts)):
        entry = parts[stopped].batch.files[0]
        rest, verdict = read(path, entry=entry)
        assert verdict == (Verdict(Outcome.SKIPPED if entry.finished else Outcome.IMPORTED))
        got = [*parts[: stopped + 1], *rest]
        assert captures_of(got) == list(whole.batch.captures)
        assert got[-1].batch.files == whole.batch.files
        assert sum(part.bytes for part in got) == path.stat().st_size


def captures_of(parts: list[FilePart]) -> list[Capture]:
    return [capture for part in parts for capture in part.batch.captures]


def test_another_file_of_the_same_name_is_refused(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", [FIRST])
    [part], _ = read(path)
    entry = part.batch.files[0]
    parts, verdict = read(path, entry=replace(entry, checksum="another"))
    assert (parts, verdict.outcome) == ([], Outcome.REFUSED)
    parts, verdict = read(path, entry=replace(entry, size=entry.done_to + 1))
    assert (parts, verdict.outcome) == ([], Outcome.REFUSED)
    assert "another file of this name" in verdict.errors[0].message


def test_the_ledger_says_of_a_file_that_is_no_archive_that_it_cannot_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"no archive at all\n" * 100)
    [part], verdict = read(path)
    assert verdict.outcome is Outcome.UNREADABLE
    assert len(part.errors) == 1
    [entry] = part.batch.files
    assert entry.counts == {"errors": 1, UNREADABLE: 1}
    assert (entry.finished, entry.done_to) == (False, 0)
    [again], verdict = read(path, entry=entry)
    assert verdict.outcome is Outcome.UNREADABLE
    assert again.batch.files == part.batch.files, "errors of one file do not add up"
    write_warc(path, [FIRST])
    [good], verdict = read(path, entry=entry)
    assert verdict.outcome is Outcome.IMPORTED
    assert good.batch.files[0].counts == {"response": 1, "captures": 1, "errors": 0}


def test_all_errors_of_a_file_are_counted_in_its_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extracting(data: bytes, **_: Any) -> Extract:
        return Extract(problems=("html: odd",)) if b"text" in data else Extract()

    monkeypatch.setattr("nwx.importing.collector.extract", extracting)
    monkeypatch.setattr("nwx.importing.collector._PART_CAPTURES", 7)
    path = write_warc(tmp_path / "a.warc.gz", many_pages(30))
    path.write_bytes(b"damage" + path.read_bytes() + b"garbage")
    parts, _ = read(path)
    assert len(parts) > 3
    total = 0
    for part in parts:
        total += len(part.errors)
        assert part.batch.files[0].counts["errors"] == total
    assert total == 30 + 2
    resumed, _ = read(path, entry=parts[1].batch.files[0])
    assert resumed[-1].batch.files[0].counts["errors"] >= total


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", [FIRST])
    source = ArchiveSource(path.name, str(path), path.stat().st_size)
    path.unlink()
    task = FileTask(source, str(path), None)
    archive = Archive()
    [part, verdict] = import_file(
        task, ImportOptions(), Lookups(archive.known), archive.guard, lambda _: None
    )
    assert verdict == Verdict(Outcome.UNREADABLE)
    assert isinstance(part, FilePart)
    assert [error.kind for error in part.errors] == ["open"]
    assert part.batch.files[0].counts == {"errors": 1, UNREADABLE: 1}


def test_a_file_that_was_imported_and_is_gone_keeps_its_entry(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", [FIRST])
    [part], _ = read(path)
    [entry] = part.batch.files
    source = ArchiveSource(path.name, str(path), path.stat().st_size)
    path.unlink()
    archive = Archive()
    [left, verdict] = import_file(
        FileTask(source, str(path), entry), ImportOptions(),
        Lookups(archive.known), archive.guard, lambda _: None,
    )  # fmt: skip
    assert verdict == Verdict(Outcome.UNREADABLE)
    assert isinstance(left, FilePart)
    assert left.batch.files == ()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_wacz_whose_bytes_are_not_what_was_told_is_read_and_reported(
    tmp_path: Path, method: int
) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(9)).read_bytes()
    told = {"resources": [{"path": "archive/a.warc.gz", "hash": "sha256:" + "0" * 64}]}
    with zipfile.ZipFile(tmp_path / "x.wacz", "w", method) as archive:
        archive.writestr("archive/a.warc.gz", warc)
        archive.writestr("datapackage.json", json.dumps(told))
    [source] = expand([str(tmp_path / "x.wacz")])
    assert isinstance(source, ArchiveSource)
    data = (tmp_path / "x.wacz").read_bytes()
    crc = zlib.crc32(warc).to_bytes(4, "little")
    assert data.count(crc) >= 2
    (tmp_path / "x.wacz").write_bytes(data.replace(crc, b"\1\2\3\4"))
    [source] = expand([str(tmp_path / "x.wacz")])
    assert isinstance(source, ArchiveSource)
    known = Archive()
    part, verdict = import_file(
        FileTask(source, source.path, None), ImportOptions(),
        Lookups(known.known), known.guard, lambda _: None,
    )  # fmt: skip
    assert verdict == Verdict(Outcome.IMPORTED)
    assert isinstance(part, FilePart)
    assert sorted(error.kind for error in part.errors) == ["digest", "zip"]
    assert part.batch.files[0].counts["errors"] == 2
    assert part.batch.files[0].finished
    assert len(part.batch.captures) == 12


def test_lookups_and_parts_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nwx.importing.collector._LOOKUP_RECORDS", 5)
    monkeypatch.setattr("nwx.importing.collector._PART_CHARACTERS", 2_000)
    parts, _ = read(write_warc(tmp_path / "a.warc.gz", many_pages(30)))
    assert len(parts) > 3
    largest = max(sum(len(d.extract.content) for d in part.batch.documents) for part in parts)
    assert largest < 2_000 + 5 * 1_000
    assert len({d.capture.document_id for part in parts for d in part.batch.documents}) == 30


def test_what_was_handed_over_is_not_handed_over_again(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", many_pages(9))
    later = [replace(page, timestamp="20200101000000") for page in many_pages(9)]
    again = write_warc(tmp_path / "b.warc.gz", later)
    archive, memory = Archive(), Memory()
    read(path, archive, memory=memory)
    archive.asked.clear()
    [part], _ = read(again, archive, memory=memory)
    assert archive.asked == []
    assert part.batch.documents == ()
    assert len(part.batch.captures) == 12


def test_memory_is_bounded_and_keeps_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nwx.importing.collector._REMEMBERED_KEYS", 10)
    memory = Memory()
    for number in range(100):
        memory.remember(str(number), number)
    kept = [number for number in range(100) if memory.precedence(str(number)) == number]
    assert 10 <= len(kept) <= 20
    assert kept == list(range(100 - len(kept), 100))


def test_charsets_and_codings_reach_the_extraction(tmp_path: Path) -> None:
    body = "<title>Käse</title>ein Käse".encode("iso-8859-1")
    page = replace(FIRST, body=body, content_type="text/html; charset=ISO-8859-1")
    [part], _ = read(write_warc(tmp_path / "a.warc.gz", [page]))
    assert part.batch.documents[0].extract.title == "Käse"


def test_outlinks_without_captures_are_handed_over_in_parts(tmp_path: Path) -> None:
    lines = "".join(f"outlink: http://b.example/{n} L a/@href\r\n" for n in range(9_000))
    records = [
        warc_bytes("metadata", lines.encode(), id=f"m{n}", content_type="application/warc-fields")
        for n in range(60)
    ]
    parts, verdict = read(write_records(tmp_path / "a.warc.gz", records))
    assert verdict.outcome is Outcome.IMPORTED
    counts = [sum(len(late.recorded.outlinks) for late in part.late) for part in parts]
    assert sum(counts) == 60 * 9_000
    assert max(counts) <= 250_000


def test_a_larger_file_is_another_if_only_the_ends_of_an_address_are_known(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", [FIRST])
    entry = SourceFile("default", path.name, "http://a.example/a.warc.gz", 10, "10~00000000")
    parts, verdict = read(path, entry=entry)
    assert (parts, verdict.outcome) == ([], Outcome.REFUSED)
