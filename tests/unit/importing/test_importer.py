"""Imports by real worker processes of documents that kill them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nwx.bulk.progress import WorkProgress
from nwx.captures import PagePlace
from nwx.engine.base import Engine, StagedBatch, open_engine
from nwx.engine.capabilities import Claim, ClaimedFile
from nwx.errors import EngineFullError, EngineUnavailableError
from nwx.importing import ImportOptions, ImportReport, Outcome, import_files, readers
from nwx.maintenance.agreement import check
from nwx.model import IndexName, SourceFile, Written
from nwx.settings import Settings
from nwx.warc.sources import ArchiveSource, expand
from tests.hostile import CRASH, FAIL, HANG, HOARD, hostile_extract
from tests.unit.importing.ledger_in_memory import LedgerInMemory
from tests.warcs import Page, html, many_pages, write_warc

OPTIONS = ImportOptions(jobs=1, patience_seconds=1, item_seconds=1.5, item_bytes=400 << 20)
HOSTILE = replace(OPTIONS, extract=hostile_extract)


def run(
    folder: Path,
    *files: Path,
    options: ImportOptions = OPTIONS,
    wrap: Callable[[Engine], Any] = lambda engine: engine,
    **more: Any,
) -> ImportReport:
    """Import files into an archive below a folder."""
    settings = Settings(str(folder / "archive"))
    with open_engine(settings) as engine:
        engine.create()
        return import_files(wrap(engine), settings, expand(map(str, files)), options, **more)


def bad(sign: bytes) -> Page:
    return Page(f"http://bad.example/{sign.decode()}", "20150101000000", html("bad", sign.decode()))


@pytest.mark.parametrize(
    ("sign", "cause"),
    [
        (HANG, "took longer than 1.5 s"),
        (CRASH, "crashed (SIGSEGV)"),
        (FAIL, "failed: ValueError: a parser's own fault"),
    ],
)
def test_no_document_ends_an_import(tmp_path: Path, sign: bytes, cause: str) -> None:
    pages = many_pages(12)
    pages.insert(5, bad(sign))
    path = write_warc(tmp_path / "a.warc.gz", pages)
    report = run(tmp_path, path, options=HOSTILE)
    assert report.outcomes == {Outcome.IMPORTED: 1}
    assert (report.captures, report.documents) == (len(pages), 13)
    [error] = report.errors
    assert (error.file, error.kind, error.message) == (
        "a.warc.gz",
        "extract",
        f"extraction {cause}",
    )
    with open_engine(Settings(str(tmp_path / "archive")), read_only=True) as engine:
        assert list(check(engine)) == []
        [entry] = [e for e in engine.scan(IndexName.DOCUMENTS) if "bad" in e["url"]]
        assert entry["source_file_offset"] == error.offset
        assert entry["problems"] == [error.message]


@pytest.mark.parametrize("times", [1, 2])
def test_a_worker_that_somebody_kills_costs_no_text(tmp_path: Path, times: int) -> None:
    killing = html("killed", f"KILL{times}:{tmp_path / 'killed'}; quarry")
    pages = [*many_pages(3), Page("http://a.example/", "20150101000000", killing)]
    report = run(tmp_path, write_warc(tmp_path / "a.warc.gz", pages), options=HOSTILE)
    assert [one.message for one in report.errors] == ["extraction crashed (SIGKILL)"] * (times - 1)
    assert report.documents == 4


def test_a_document_that_eats_all_memory_ends_no_import(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", [*many_pages(3), bad(HOARD)])
    report = run(tmp_path, path, options=replace(HOSTILE, item_seconds=60))
    assert report.documents == 4
    assert [error.message for error in report.errors] == ["memory: more than 400 MiB are needed"]


def test_several_bad_documents_in_several_files(tmp_path: Path) -> None:
    files = []
    for number, signs in enumerate(([CRASH, FAIL], [FAIL, CRASH], [])):
        pages = many_pages(5, start=100 * number)
        pages[2:2] = [replace(bad(sign), url=f"http://{number}.example/{sign!r}") for sign in signs]
        files.append(write_warc(tmp_path / f"{number}.warc.gz", pages))
    report = run(tmp_path, *files, options=replace(HOSTILE, jobs=2))
    assert report.documents == 15 + 4
    assert report.errors_by_kind == {"extract": 4}


def test_a_file_whose_reading_kills_is_left_and_the_rest_imported(tmp_path: Path) -> None:
    good = write_warc(tmp_path / "good.warc.gz", many_pages(5))
    with (tmp_path / "empty").open("w"):
        pass
    settings = Settings(str(tmp_path / "archive"))
    sources = [DeadlySource("deadly.warc.gz", str(good), 1 << 30), *expand([str(good)])]
    with open_engine(settings) as engine:
        engine.create()
        report = import_files(engine, settings, sources, OPTIONS)
    assert report.outcomes == {Outcome.IMPORTED: 1, Outcome.PARTIAL: 1}
    [error] = report.errors
    assert (error.file, error.kind) == ("deadly.warc.gz", "crash")
    assert "reading failed: " in error.message


class DeadlySource(ArchiveSource):
    """A file that ends the process opening it."""

    def open(self) -> Any:
        raise SystemExit("deadly")


class Wrapped:
    """An engine with a replaced `write_staged`."""

    def __init__(self, engine: Engine, write: Callable[[Engine, StagedBatch], Written]) -> None:
        self._engine, self._write = engine, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def write_staged(self, staged: StagedBatch) -> Written:
        return self._write(self._engine, staged)


class Shared(Wrapped):
    """An engine with several importers; `taken` is called once with the ledger and a file name."""

    def __init__(self, engine: Engine, taken: Callable[[LedgerInMemory, str], None]) -> None:
        self.ledger = LedgerInMemory()
        super().__init__(engine, self._taken_once)
        self._taken: Callable[[LedgerInMemory, str], None] | None = taken

    def claims(self) -> LedgerInMemory:
        return self.ledger

    def _taken_once(self, engine: Engine, staged: StagedBatch) -> Written:
        """Let another importer take the first claimed file before its data is written."""
        taken, self._taken = self._taken, None
        if taken:
            taken(self.ledger, min(row.name for row in self.ledger.held()))
        return engine.write_staged(staged)


def two_files(folder: Path) -> list[Path]:
    return [
        write_warc(folder / f"{start}.warc.gz", many_pages(9, start=start * 10))
        for start in range(2)
    ]


@pytest.mark.parametrize("together", [True, False])
def test_files_that_another_importer_took_and_finished_are_counted_as_its(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    if not together:
        monkeypatch.setattr(readers, "UNDELIVERED_BYTES", 0)
    files = two_files(tmp_path)

    def finish(ledger: LedgerInMemory, name: str) -> None:
        path = tmp_path / name
        done = SourceFile("default", name, str(path), path.stat().st_size, "", 1, finished=True)
        ledger.rows[name] = ClaimedFile("default", name, done)

    report = run(tmp_path, *files, wrap=lambda engine: Shared(engine, finish))
    assert report.outcomes == {Outcome.BY_OTHERS: 1, Outcome.IMPORTED: 1}
    assert (report.files, report.interrupted) == (2, False)


def test_files_that_another_importer_took_and_left_are_read_again(tmp_path: Path) -> None:
    files = two_files(tmp_path)

    def take(ledger: LedgerInMemory, name: str) -> None:
        row = ledger.rows[name]
        ledger.rows[name] = replace(row, claim=Claim("elsewhere", 7, lease_seconds=0.5))

    engines: list[Shared] = []

    def shared(engine: Engine) -> Shared:
        engines.append(Shared(engine, take))
        return engines[0]

    options = replace(OPTIONS, lease_seconds=0.5)
    report = run(tmp_path, *files, options=options, wrap=shared)
    assert report.outcomes == {Outcome.IMPORTED: 2}
    rows = engines[0].ledger.rows
    assert [(row.file is not None and row.file.finished, row.claim) for row in rows.values()] == [
        (True, None),
        (True, None),
    ]


def test_an_engine_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", many_pages(5))
    refusals = iter([EngineUnavailableError("away")])

    def write(engine: Engine, batch: StagedBatch) -> Written:
        for refusal in refusals:
            raise refusal
        return engine.write_staged(batch)

    report = run(tmp_path, path, wrap=lambda engine: Wrapped(engine, write))
    assert report.documents == 5


@pytest.mark.parametrize("error", [EngineUnavailableError, EngineFullError])
def test_an_engine_that_stays_away_ends_the_import_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    monkeypatch.setattr(readers, "UNDELIVERED_BYTES", 0)
    files = [
        write_warc(tmp_path / f"{start}.warc.gz", many_pages(50 - start, start=start * 10))
        for start in range(4)
    ]
    writes = iter(range(100))

    def write(engine: Engine, batch: StagedBatch) -> Written:
        if next(writes) >= 2:
            raise error("no more")
        return engine.write_staged(batch)

    with pytest.raises(error, match="no more"):
        run(tmp_path, *files, wrap=lambda engine: Wrapped(engine, write))
    report = run(tmp_path, *files)
    assert report.outcomes == {Outcome.IMPORTED: 2, Outcome.SKIPPED: 2}
    with open_engine(Settings(str(tmp_path / "archive")), read_only=True) as engine:
        assert list(check(engine)) == []


def test_an_import_stops_when_told_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "UNDELIVERED_BYTES", 0)
    files = [
        write_warc(tmp_path / f"{start}.warc.gz", many_pages(50 - start, start=start * 10))
        for start in range(4)
    ]
    writes: list[StagedBatch] = []

    def write(engine: Engine, batch: StagedBatch) -> Written:
        writes.append(batch)
        return engine.write_staged(batch)

    report = run(
        tmp_path,
        *files,
        wrap=lambda engine: Wrapped(engine, write),
        stopping=lambda: len(writes) >= 2,
    )
    assert report.interrupted
    assert len(writes) == 2
    report = run(tmp_path, *files)
    assert not report.interrupted
    assert report.outcomes == {Outcome.IMPORTED: 2, Outcome.SKIPPED: 2}


def test_small_files_are_written_together(tmp_path: Path) -> None:
    files = [
        write_warc(tmp_path / f"{start}.warc.gz", many_pages(5, start=start * 10))
        for start in range(20)
    ]
    writes: list[StagedBatch] = []

    def write(engine: Engine, batch: StagedBatch) -> Written:
        writes.append(batch)
        return engine.write_staged(batch)

    report = run(tmp_path, *files, wrap=lambda engine: Wrapped(engine, write))
    assert (report.documents, report.outcomes) == (100, {Outcome.IMPORTED: 20})
    assert len(writes) == 1
    with open_engine(Settings(str(tmp_path / "archive")), read_only=True) as engine:
        assert list(check(engine)) == []
        assert {file.name for file in engine.files()} == {path.name for path in files}


def test_files_that_were_held_by_a_worker_that_dies_are_read_again(tmp_path: Path) -> None:
    pages = [many_pages(9 - start, start=start * 10) for start in range(4)]
    pages[2].append(bad(FAIL))
    files = [write_warc(tmp_path / f"{n}.warc.gz", some) for n, some in enumerate(pages)]
    deadly = DeadlySource("deadly.warc.gz", str(files[0]), 0)
    settings = Settings(str(tmp_path / "archive"))
    with open_engine(settings) as engine:
        engine.create()
        report = import_files(engine, settings, [*expand(map(str, files)), deadly], HOSTILE)
        assert list(check(engine)) == []
    assert report.outcomes == {Outcome.IMPORTED: 4, Outcome.PARTIAL: 1}
    assert (report.captures, report.documents) == (sum(map(len, pages)), 31)
    assert report.errors_by_kind == {"extract": 1, "crash": 1}


def test_progress_ends_with_everything(tmp_path: Path) -> None:
    files = [
        write_warc(tmp_path / f"{start}.warc.gz", many_pages(20, start=start * 100))
        for start in range(3)
    ]
    told: list[WorkProgress] = []
    report = run(tmp_path, *files, progress=told.append)
    last = told[-1]
    assert last.done == last.total == sum(path.stat().st_size for path in files)
    assert last.files == (3, 3)
    assert last.counts["capture"] == report.captures
    assert last.counts["document"] == report.documents
    assert [progress.done for progress in told] == sorted(progress.done for progress in told)


def test_new_pages_are_told_after_they_were_written(tmp_path: Path) -> None:
    told: list[tuple[str, str, str, int]] = []

    def listen(source: ArchiveSource, pages: Sequence[PagePlace]) -> None:
        told.extend((source.path, page.url, page.source_file, page.offset) for page in pages)

    path = write_warc(tmp_path / "a.warc.gz", many_pages(12))
    report = run(tmp_path, path, on_documents=listen)
    assert report.documents == len(told) == 12
    assert {(place, name) for place, _, name, _ in told} == {(str(path), "a.warc.gz")}
    assert {url for _, url, _, _ in told} == {f"http://www.example.org/{n}" for n in range(12)}
    told.clear()
    again = write_warc(tmp_path / "b.warc.gz", many_pages(13))
    run(tmp_path, again, on_documents=listen)
    assert "http://www.example.org/12" in {url for _, url, _, _ in told}
