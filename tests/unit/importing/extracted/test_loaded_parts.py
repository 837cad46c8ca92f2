"""Importing documents files gives the same result as importing the archive files."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.importing.collector import Lookups
from nwx.importing.extracted import loaded_parts
from nwx.importing.extracted.documents_file import extracted_sources
from nwx.importing.extracted.loaded_parts import load_file
from nwx.importing.extracted.notes import ExtractedFile
from nwx.importing.messages import FilePart, FileTask, Outcome, Verdict
from nwx.importing.options import ImportOptions
from nwx.importing.worker import import_file
from nwx.keys import document_id, document_key, precedence
from nwx.model import Capture, SourceFile
from tests.conformance.archive import capture
from tests.documents_files import messages_of, write_documents
from tests.unit.importing.test_worker import Archive
from tests.warc_records import FIELDS, http_response, outlink_lines, warc_bytes, write_records
from tests.warcs import Page, html, many_pages, write_warc

FIRST = Page("http://a.example/", "20150101000000", html("A", "first text"))
LATER = replace(FIRST, timestamp="20160101000000")
OPTIONS = ImportOptions()


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of four captures."""
    monkeypatch.setattr("nwx.importing.collector._PART_CAPTURES", 4)


def extracted(warc: Path, options: ImportOptions = OPTIONS) -> FileTask:
    """Return the task that loads an archive file extracted next to it."""
    folder = write_documents(warc.parent / "documents", [warc], options)
    [source] = extracted_sources([str(folder / f"{warc.name}.parquet")]).sources
    assert isinstance(source, ExtractedFile)
    return FileTask(source, source.path, None)


def lookups(
    archive: Archive | None = None, listed: object = None, purged: object = None
) -> Lookups:
    named = {"known": archive and archive.known, "listed": listed, "purged": purged}
    return Lookups(**{name: one for name, one in named.items() if one})  # type: ignore[arg-type]


def loaded(
    task: FileTask, asked: Lookups | None = None, options: ImportOptions = OPTIONS
) -> tuple[list[FilePart], Verdict]:
    *parts, verdict = load_file(task, options, asked or lookups(), lambda _: None)
    assert isinstance(verdict, Verdict)
    return [part for part in parts if isinstance(part, FilePart)], verdict


def plain(messages: Iterator[FilePart | Verdict]) -> list[object]:
    """Return parts in comparable form: documents and dates in any order."""
    return [one if isinstance(one, Verdict) else _plain(one) for one in messages]


def _plain(part: FilePart) -> object:
    batch = part.batch
    documents = sorted(batch.documents, key=lambda one: one.capture.source_file_offset)
    dates = sorted(batch.dates, key=lambda one: one.key)
    return replace(part, batch=replace(batch, documents=tuple(documents), dates=tuple(dates)))


def same(warc: Path, options: ImportOptions = OPTIONS) -> None:
    task = extracted(warc, options)
    expected = plain(messages_of(task.source, options))
    assert plain(load_file(task, options, lookups(), lambda _: None)) == expected


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("deduplicate", [True, False])
def test_parts_are_those_of_the_archive_file(tmp_path: Path, deduplicate: bool) -> None:
    pages = [*many_pages(20), FIRST, LATER, replace(LATER, revisit=True)]
    warc = write_warc(tmp_path / "a.warc.gz", pages)
    same(warc, ImportOptions(deduplicate=deduplicate, collection="web"))


def test_errors_and_damage_are_those_of_the_archive_file(tmp_path: Path) -> None:
    broken = Page("http://a.example/x.pdf", "20150101000000", b"%PDF broken", "application/pdf")
    warc = write_warc(tmp_path / "a.warc.gz", [FIRST, broken, LATER])
    warc.write_bytes(warc.read_bytes() + b"garbage behind")
    same(warc)


def test_a_file_that_holds_no_record_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(b"nothing of the kind")
    same(tmp_path / "a.warc.gz")


@pytest.mark.usefixtures("small_parts")
def test_outlinks_behind_other_captures_are_those_of_the_archive_file(tmp_path: Path) -> None:
    def response(name: str) -> bytes:
        url = f"http://a.example/{name}"
        return warc_bytes("response", http_response(name.encode()), id=name, url=url)

    records = [response(f"p{number}") for number in range(9)]
    for name, number in (("p0", 9), ("p8", 10)):
        lines = outlink_lines(f"http://b.example/{name}")
        fields = {"id": f"m{number}", "url": "http://c.example/", "content_type": FIELDS}
        about = {"WARC_Concurrent_To": f"<urn:x:{name}>"}
        records.append(warc_bytes("metadata", lines, **fields, **about))
    same(write_records(tmp_path / "a.warc.gz", records))


@pytest.mark.usefixtures("small_parts")
def test_a_load_goes_on_where_the_ledger_stands(tmp_path: Path) -> None:
    task = extracted(write_warc(tmp_path / "a.warc.gz", many_pages(12)))
    parts, verdict = loaded(task)
    assert len(parts) > 3
    for number, part in enumerate(parts):
        [entry] = part.batch.files
        rest, again = loaded(replace(task, entry=entry))
        assert rest == parts[number + 1 :]
        assert again == (Verdict(Outcome.SKIPPED) if entry.finished else verdict)


@pytest.mark.usefixtures("small_parts")
def test_a_file_imported_in_part_from_the_archive_file_is_loaded_whole(tmp_path: Path) -> None:
    task = extracted(write_warc(tmp_path / "a.warc.gz", many_pages(12)))
    parts, _ = loaded(task)
    elsewhere = replace(parts[1].batch.files[0], done_to=parts[1].batch.files[0].done_to + 1)
    assert loaded(replace(task, entry=elsewhere))[0] == parts


def test_another_file_of_the_name_is_refused(tmp_path: Path) -> None:
    task = extracted(write_warc(tmp_path / "a.warc.gz", many_pages(2)))
    other = SourceFile("default", "a.warc.gz", "/other/a.warc.gz", 12, "12-00", finished=True)
    parts, verdict = loaded(replace(task, entry=other))
    assert (parts, verdict.outcome) == ([], Outcome.REFUSED)
    assert "another file of this name is in the archive" in verdict.errors[0].message


def test_documents_that_vanish_leave_the_file_for_later(tmp_path: Path) -> None:
    task = extracted(write_warc(tmp_path / "a.warc.gz", many_pages(2)))
    Path(tmp_path / "documents" / "a.warc.gz.parquet").unlink()
    parts, verdict = loaded(task)
    assert (parts, verdict.outcome) == ([], Outcome.PARTIAL)
    assert verdict.errors[0].kind == "open"


def test_known_documents_are_not_written_again(tmp_path: Path) -> None:
    task = extracted(write_warc(tmp_path / "a.warc.gz", [LATER, *many_pages(3)]))
    id = document_id(document_key(FIRST.url, FIRST.digest))
    earlier = precedence(capture(FIRST.url, FIRST.timestamp, body="x"))
    archive = Archive({id: earlier})
    [part], _ = loaded(task, lookups(archive))
    assert id in archive.asked
    assert id not in {one.capture.document_id for one in part.batch.documents}
    assert part.captures == 5


def of_first_text(one: Capture) -> bool:
    return one.timestamp == FIRST.timestamp


def listed_first(url: str, digest: str, timestamp: str) -> bool:
    del url, digest
    return timestamp == FIRST.timestamp


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("way", ["listed", "purged"])
@pytest.mark.parametrize("between", [0, 2, 9])
def test_what_is_left_out_is_left_out_as_from_the_archive_file(
    tmp_path: Path, way: str, between: int
) -> None:
    pages = [*many_pages(3, start=1), FIRST, *many_pages(between, start=20), LATER]
    task = extracted(write_warc(tmp_path / "a.warc.gz", pages))
    left_out = {"listed": listed_first} if way == "listed" else {"purged": of_first_text}
    archive = Archive()
    expected = import_file(
        task,
        OPTIONS,
        lookups(archive, **left_out),  # type: ignore[arg-type]
        archive.guard,
        lambda _: None,
    )
    found = load_file(task, OPTIONS, lookups(**left_out), lambda _: None)  # type: ignore[arg-type]
    expected_parts = [one for one in expected if isinstance(one, FilePart)]
    found_parts = [one for one in found if isinstance(one, FilePart)]
    for name in ("documents", "captures", "dates"):
        one, other = (
            sorted((each for part in parts for each in getattr(part.batch, name)), key=repr)
            for parts in (found_parts, expected_parts)
        )
        assert one == other
    assert found_parts[-1].batch.files == expected_parts[-1].batch.files


def texts_of_later(parts: list[FilePart]) -> list[str]:
    documents = [one for part in parts for one in part.batch.documents]
    return [one.extract.content for one in documents if one.capture.timestamp == LATER.timestamp]


def test_texts_that_were_left_out_long_ago_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_parts, "_REMEMBERED_TEXTS", 1)
    urls = [f"http://{name}.example/" for name in "abc"]
    pages = [replace(page, url=url) for page in (FIRST, LATER) for url in urls]
    parts, _ = loaded(
        extracted(write_warc(tmp_path / "a.warc.gz", pages)), lookups(listed=listed_first)
    )
    assert texts_of_later(parts) == ["first text"] * 3


@pytest.mark.usefixtures("small_parts")
def test_a_load_that_goes_on_has_the_texts_that_were_left_out_before(tmp_path: Path) -> None:
    pages = [FIRST, *many_pages(5, start=20), LATER]
    task = extracted(write_warc(tmp_path / "a.warc.gz", pages))
    parts, _ = loaded(task, lookups(listed=listed_first))
    for part in parts[:-1]:
        rest, _ = loaded(replace(task, entry=part.batch.files[-1]), lookups(listed=listed_first))
        assert texts_of_later(rest) == texts_of_later(parts) == ["first text"]
