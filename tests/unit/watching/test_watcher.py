"""Watches that load files, are killed, and continue."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nwx.engine.base import open_engine
from nwx.errors import EngineUnavailableError, SourceError
from nwx.importing import ImportOptions
from nwx.maintenance.agreement import check
from nwx.model import IndexName, SourceFile
from nwx.settings import Settings
from nwx.watching import Event, EventKind, WatchOptions, WatchReport, watch, watcher
from tests.warcs import Page, html, many_pages, write_warc

IMPORTS = ImportOptions(jobs=1, patience_seconds=0.1)
ONCE = WatchOptions(IMPORTS, once=True, interval_seconds=0.01, settle_seconds=0)


class Archive:
    """An archive, and a watched folder next to it."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(str(folder / "archive"))
        self.incoming, self.done, self.failed = (
            folder / name for name in ("incoming", "done", "failed")
        )
        self.incoming.mkdir(parents=True)

    def watch(self, options: WatchOptions = ONCE, **more: Any) -> list[Event]:
        events: list[Event] = []
        watch(self.settings, [self.incoming], options, events.append, **more)
        return events

    def moving(self) -> list[Event]:
        return self.watch(replace(ONCE, completed=self.done))

    def files(self) -> dict[str, SourceFile]:
        with open_engine(self.settings, read_only=True) as engine:
            assert list(check(engine)) == []
            return {file.name: file for file in engine.files()}

    def captures(self) -> int:
        with open_engine(self.settings, read_only=True) as engine:
            return engine.count(IndexName.CAPTURES)

    def text_of(self, pages: list[Page]) -> list[str]:
        from nwx.keys import document_id, document_key

        ids = [document_id(document_key(page.url, page.digest)) for page in pages]
        with open_engine(self.settings, read_only=True) as engine:
            found = engine.documents(ids)
        return [found[id].extract.content if id in found else "" for id in ids]


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """An archive that does not exist yet, and an empty folder."""
    return Archive(tmp_path)


def kinds(events: list[Event]) -> list[EventKind]:
    return [event.kind for event in events]


def test_files_are_loaded_once_and_stay(archive: Archive) -> None:
    path = write_warc(archive.incoming / "a.warc.gz", many_pages(6))
    (event,) = archive.watch()
    assert (event.kind, event.path, event.captures) == (EventKind.LOADED, str(path), 8)
    assert archive.watch() == []
    assert archive.files()["a.warc.gz"].path == str(path)


def test_loaded_files_are_moved_and_stay_findable(archive: Archive) -> None:
    write_warc(archive.incoming / "a.warc.gz", many_pages(6))
    (event,) = archive.moving()
    assert event.moved_to == str(archive.done / "a.warc.gz")
    assert list(archive.incoming.iterdir()) == []
    assert archive.files()["a.warc.gz"].path == event.moved_to
    assert archive.moving() == []


@pytest.mark.parametrize("moment", ["before the name", "after the name", "before the old one goes"])
def test_a_move_that_was_killed_is_finished_at_the_next_start(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    write_warc(archive.incoming / "a.warc.gz", many_pages(6))
    with monkeypatch.context() as killing:
        _kill_at(killing, moment)
        with pytest.raises(KeyboardInterrupt):
            archive.moving()
    assert (archive.incoming / "a.warc.gz").exists()
    assert archive.captures() == 8
    (event,) = archive.moving()
    assert event.kind is EventKind.KNOWN
    assert list(archive.incoming.iterdir()) == []
    assert archive.files()["a.warc.gz"].path == str(archive.done / "a.warc.gz")
    assert archive.captures() == 8


def _kill_at(killing: pytest.MonkeyPatch, moment: str) -> None:
    def killed(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    place = watcher.move_file

    def killed_after(*arguments: Any) -> Any:
        place(*arguments)
        raise KeyboardInterrupt

    if moment == "before the name":
        killing.setattr(watcher, "move_file", killed)
    elif moment == "after the name":
        killing.setattr(watcher, "move_file", killed_after)
    else:
        killing.setattr(Path, "unlink", killed)


def test_a_file_that_cannot_be_moved_is_loaded_all_the_same(archive: Archive) -> None:
    archive.done.mkdir()
    (archive.done / "a.warc.gz").write_bytes(b"another")
    write_warc(archive.incoming / "a.warc.gz", many_pages(6))
    assert kinds(archive.moving()) == [EventKind.NOT_MOVED, EventKind.LOADED]
    assert (archive.done / "a.warc.gz").read_bytes() == b"another"
    assert archive.files()["a.warc.gz"].path == str(archive.incoming / "a.warc.gz")


def test_what_cannot_be_loaded_is_told_and_the_rest_goes_on(archive: Archive) -> None:
    (archive.incoming / "bad.warc.gz").write_bytes(b"no archive")
    (archive.incoming / "bad.wacz").write_bytes(b"no archive")
    (archive.incoming / "empty.warc.gz").write_bytes(b"")
    write_warc(archive.incoming / "good.warc.gz", many_pages(3))
    events = archive.watch(replace(ONCE, completed=archive.done, failed=archive.failed))
    told = {Path(event.path).name: event for event in events}
    assert told["good.warc.gz"].kind is EventKind.LOADED
    for name in ("bad.warc.gz", "bad.wacz", "empty.warc.gz"):
        assert told[name].kind is EventKind.FAILED
        assert told[name].message
        assert (archive.failed / name).exists()
    assert (archive.done / "good.warc.gz").exists()


def test_another_file_of_a_name_that_is_loaded_is_refused(archive: Archive) -> None:
    for number, folder in enumerate(("one", "two")):
        (archive.incoming / folder).mkdir()
        write_warc(archive.incoming / folder / "a.warc.gz", many_pages(3 + number))
    events = archive.moving()
    assert sorted(kinds(events)) == [EventKind.FAILED, EventKind.LOADED]
    (failed,) = (event for event in events if event.kind is EventKind.FAILED)
    assert "another file of this name" in failed.message
    assert Path(failed.path).exists()


def test_the_same_file_in_two_folders_is_loaded_once_and_both_go(archive: Archive) -> None:
    for folder in ("one", "two"):
        (archive.incoming / folder).mkdir()
        write_warc(archive.incoming / folder / "a.warc.gz", many_pages(3))
    assert sorted(kinds(archive.moving())) == [EventKind.KNOWN, EventKind.LOADED]
    assert [path for path in archive.incoming.rglob("*") if path.is_file()] == []
    assert archive.captures() == 4


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("cut", [0, 30, 300, 900])
def test_a_file_that_was_loaded_too_soon_is_read_to_its_end(
    archive: Archive, compressed: bool, cut: int
) -> None:
    pages = [
        Page(
            f"http://a.example/{number}",
            "20150101000000",
            html(f"Page {number}", f"{number}" * 900),
        )
        for number in range(6)
    ]
    whole = write_warc(archive.incoming / "whole", pages, compressed=compressed).read_bytes()
    half = write_warc(archive.incoming / "half", pages[:4], compressed=compressed).read_bytes()
    (archive.incoming / "a.warc.gz").write_bytes(half[: len(half) - cut])
    archive.watch()
    with (archive.incoming / "a.warc.gz").open("ab") as file:
        file.write(whole[len(half) - cut :])
    (event,) = archive.watch()
    assert (event.kind, event.errors_total) == (EventKind.LOADED, 0)
    assert archive.captures() == 6
    for number, text in enumerate(archive.text_of(pages)):
        assert text.endswith(f"{number}" * 900)
    assert archive.watch() == []


def test_a_file_that_was_written_anew_is_no_grown_one(archive: Archive) -> None:
    write_warc(archive.incoming / "a.warc.gz", many_pages(3))
    archive.watch()
    write_warc(archive.incoming / "a.warc.gz", many_pages(9, start=50))
    (event,) = archive.watch()
    assert event.kind is EventKind.FAILED
    assert archive.captures() == 4


def test_a_file_that_was_moved_by_hand_is_found_again(archive: Archive) -> None:
    path = write_warc(archive.incoming / "a.warc.gz", many_pages(3))
    archive.watch()
    (archive.incoming / "below").mkdir()
    path.rename(archive.incoming / "below" / "a.warc.gz")
    (event,) = archive.watch()
    assert event.kind is EventKind.KNOWN
    assert archive.files()["a.warc.gz"].path == event.path


def test_while_the_archive_is_away_the_watch_waits_and_says_so(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_warc(archive.incoming / "a.warc.gz", many_pages(3))
    attempts: list[int] = []

    def away(*arguments: Any, **options: Any) -> Any:
        attempts.append(1)
        if len(attempts) < 3:
            raise EngineUnavailableError("the server is away")
        return open_engine(*arguments, **options)

    monkeypatch.setattr(watcher, "open_engine", away)
    monkeypatch.setattr(watcher, "_pauses", lambda: iter((0.01, 0.02)))
    options = replace(ONCE, once=False)
    events = _until(archive, options, lambda events: EventKind.LOADED in kinds(events))
    assert kinds(events) == [
        EventKind.WAITING,
        EventKind.WAITING,
        EventKind.BACK,
        EventKind.LOADED,
    ]
    assert [event.retry_seconds for event in events[:2]] == [0.01, 0.02]
    assert events[0].message == "the server is away"


def test_once_an_archive_that_is_away_is_an_error(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_warc(archive.incoming / "a.warc.gz", many_pages(3))

    @contextmanager
    def away(_: Settings) -> Any:
        raise EngineUnavailableError("the server is away")
        yield

    monkeypatch.setattr(watcher, "open_engine", away)
    with pytest.raises(EngineUnavailableError):
        archive.watch()


def test_while_another_process_writes_the_watch_waits(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_pauses", lambda: iter((0.01,) * 1000))
    write_warc(archive.incoming / "a.warc.gz", many_pages(3))
    options = replace(ONCE, once=False)
    with open_engine(archive.settings) as other:
        other.create()
        events = _until(archive, options, lambda events: EventKind.WAITING in kinds(events))
    assert "another process is writing" in events[0].message
    assert kinds(archive.watch()) == [EventKind.LOADED]


def test_a_watch_follows_a_crawl(archive: Archive) -> None:
    writing = write_warc(archive.incoming / "a.warc.gz.open", many_pages(3))
    options = replace(ONCE, once=False, settle_seconds=3_600)
    looks: list[int] = []

    def crawled(events: list[Event]) -> bool:
        looks.append(1)
        if len(looks) == 5:
            writing.rename(archive.incoming / "a.warc.gz")
        return bool(events)

    (event,) = _until(archive, options, crawled)
    assert event.kind is EventKind.LOADED


def test_a_file_that_is_written_is_read_as_it_grows(archive: Archive, tmp_path: Path) -> None:
    """By several watches in a row; the result equals that of a single import."""
    pages = many_pages(20)
    whole = write_warc(tmp_path / "a.warc.gz", pages).read_bytes()
    writing = archive.incoming / "a.warc.gz.open"
    options = replace(ONCE, once=False, settle_seconds=3_600)
    known = 0
    for cut in (len(whole) // 3, len(whole) // 3 + 1, len(whole) // 2, len(whole)):
        writing.write_bytes(whole[:cut])
        looks: list[int] = []
        report = watch(
            archive.settings,
            [archive.incoming],
            options,
            lambda event: pytest.fail(str(event)),
            stopping=lambda looks=looks: looks.append(1) or len(looks) > 12,  # type: ignore[func-returns-value]
        )
        before, known = known, archive.captures()
        assert known > before or cut == len(whole) // 3 + 1
        assert report.partial == ({} if known == before else {"a.warc.gz": known})
    assert known == len(pages)
    assert not archive.files()["a.warc.gz"].finished
    writing.rename(archive.incoming / "a.warc.gz")
    (event,) = archive.watch()
    assert (event.kind, event.captures, event.errors_total) == (EventKind.LOADED, len(pages), 0)
    grown = archive.files()["a.warc.gz"]
    calm = Archive(tmp_path / "calm")
    write_warc(calm.incoming / "a.warc.gz", pages)
    calm.watch()
    assert replace(grown, path="") == replace(calm.files()["a.warc.gz"], path="")
    assert archive.captures() == calm.captures()


def test_two_watches_of_one_folder_are_refused(archive: Archive) -> None:
    def again(_: list[Event]) -> bool:
        with pytest.raises(SourceError, match="watched by another process"):
            archive.watch()
        return True

    _until(archive, replace(ONCE, once=False), again)


def _until(
    archive: Archive, options: WatchOptions, done: Callable[[list[Event]], bool]
) -> list[Event]:
    """Watch until the events meet a condition."""
    events: list[Event] = []
    watch(
        archive.settings,
        [archive.incoming],
        options,
        events.append,
        stopping=lambda: done(events),
    )
    return events


def test_a_folder_that_cannot_be_read_is_told_once(archive: Archive) -> None:
    looks: list[int] = []

    def gone(_: list[Event]) -> bool:
        looks.append(1)
        if len(looks) == 2:
            archive.incoming.rmdir()
        return len(looks) > 8

    events = _until(archive, replace(ONCE, once=False), gone)
    assert kinds(events) == [EventKind.FAILED]
    assert "cannot be read" in events[0].message


@pytest.mark.parametrize(
    ("kind", "failed"),
    [
        ("loaded", False),
        ("known", False),
        ("failed", True),
        ("not-moved", True),
        ("waiting", False),
        ("back", False),
    ],
)
def test_only_files_that_cannot_be_loaded_or_moved_are_failures(kind: str, failed: bool) -> None:
    report = WatchReport()
    report.outcomes[EventKind(kind)] += 1
    assert report.failed is failed


def test_nothing_happened_is_no_failure() -> None:
    assert not WatchReport().failed
