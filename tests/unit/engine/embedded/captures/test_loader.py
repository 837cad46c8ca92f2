"""Loads of captures, and the log that they write."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nwx.engine.capabilities import Damage
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.captures import loader, merges
from nwx.engine.embedded.captures.blocks import BlockColumns
from nwx.engine.embedded.captures.cdx_order import IncomingCaptures, incoming_captures
from nwx.engine.embedded.captures.loader import EndedLoads, Loader, Merging
from nwx.engine.embedded.captures.merges import merge_many, merge_runs, runs_to_merge
from nwx.engine.embedded.captures.runs import shown_runs
from nwx.engine.embedded.database import connect
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.table_damage import _RunCheck, table_damage
from nwx.engine.sqlite_files import transaction
from nwx.keys import capture_id
from nwx.model import Capture, IndexName
from tests.conformance.archive import capture


def test_a_log_that_other_processes_have_not_brought_in_yet_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "_LONG_LOG_BYTES", 0)
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
    folder, loads, sizes = Folder(tmp_path / "archive"), [], []
    log = folder.database.with_name(f"{folder.database.name}-wal")
    for number in range(6):
        loads.append(Loader(folder, 1.0))
        offsets = range(number * 1000, (number + 1) * 1000)
        loads[-1].load(chunks(capture("http://a.example/", offset=offset) for offset in offsets))
        loads[-1].unlock()
        sizes.append(log.stat().st_size)
    for load in loads:
        load.close()
    assert sizes[-1] < 2 * sizes[0]
    with EmbeddedEngine(tmp_path / "archive", read_only=True) as engine:
        assert engine.count(IndexName.CAPTURES) == 6000


def chunks(captures: Iterable[Capture]) -> Iterator[IncomingCaptures]:
    return incoming_captures([list(captures)])


class _Load:
    """A load that, if `long`, does not end before `may_end` is set."""

    def __init__(self, *, long: bool, merging: Merging = Merging.NONE) -> None:
        self._long = long
        self.merging = merging
        self.may_end = threading.Event()
        self.steps: list[str] = []

    def unlock(self) -> bool:
        self.steps.append("unlocked")
        return self._long

    def close(self) -> None:
        if self._long:
            assert self.may_end.wait(10)
        self.steps.append("closed")

    def merge(self) -> None:
        if self.merging is Merging.DUE:
            assert self.may_end.wait(10)
        self.steps.append("merged")


def test_a_short_load_is_closed_at_once() -> None:
    load = _Load(long=False)
    EndedLoads().end(load)
    assert load.steps == ["unlocked", "closed"]


@pytest.mark.parametrize("number", [1, 2])
def test_long_loads_are_closed_by_threads_and_waited_for(number: int) -> None:
    loads, ended = [_Load(long=True) for _ in range(number)], EndedLoads()
    for load in loads:
        ended.end(load)
        assert load.steps == ["unlocked"]
    for load in loads:
        load.may_end.set()
    ended.wait()
    assert all(load.steps == ["unlocked", "closed"] for load in loads)


def test_merges_go_on_while_others_load_unless_they_are_late() -> None:
    due, late = _Load(long=False, merging=Merging.DUE), _Load(long=False, merging=Merging.LATE)
    ended = EndedLoads()
    ended.end(due)
    ended.wait()
    assert due.steps == ["unlocked", "closed"]
    ended.end(late)
    assert late.steps == ["unlocked", "closed", "merged"]
    due.may_end.set()
    ended.finish()
    assert due.steps == ["unlocked", "closed", "merged"]


@pytest.mark.parametrize("few", [0, 100])
def test_others_write_and_merge_between_the_steps_of_a_merge(
    few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in (
        (merges, "FEW_CAPTURES", 0),
        (merges, "MERGED_AT_ONCE", 1),
        (merges, "TURN_SECONDS", 0),
        (merges, "_DELETED_AT_ONCE", 1),
    ):
        monkeypatch.setattr(module, name, value)
    folder, written, removed = Folder(tmp_path / "archive"), [100], [1, 2]

    def load(offset: int) -> Capture:
        stored = capture("http://a.example/", offset=offset)
        writer = Loader(folder, 0.0)
        assert writer.load(chunks([stored])) == 1
        writer.unlock()
        writer.close()
        return stored

    with EmbeddedEngine(folder.path) as engine:
        engine.create()
    held = [load(offset) for offset in range(6)]
    monkeypatch.setattr(merges, "FEW_CAPTURES", few)

    def write(_: float) -> None:
        """Load and delete during a merge, and check the stored captures."""
        held.append(load(written[-1]))
        written.append(written[-1] + 1)
        if removed and len(written) > 3:
            gone = held.pop(removed.pop())
            unloading = Loader(folder, 0.0)
            id = capture_id(gone.collection, gone.source_file, gone.source_file_offset)
            assert unloading.unload([id]) == 1
            unloading.unlock()
            unloading.close()
        look()
        if len(written) > 30:
            clock.sleep = lambda _: None

    def look() -> None:
        with closing(connect(folder.database, read_only=True)) as db:
            assert list(table_damage(db)) == []
        with EmbeddedEngine(folder.path, read_only=True) as engine:
            found = [one.source_file_offset for one in engine.captures("", "\U0010ffff")]
        assert found == sorted(one.source_file_offset for one in held)

    # Not the global sleep, which other threads and locks of this process also use.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=write)
    monkeypatch.setattr(merges, "time", clock)
    with closing(connect(folder.database, read_only=False)) as db:
        merge_many(folder, db)
        look()
        assert not removed
        assert len(written) > 30
        assert runs_to_merge(db) == []
        assert db.execute("SELECT count(*) FROM runs WHERE NOT shown").fetchone() == (0,)


def test_few_captures_are_merged_though_many_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merges, "FEW_CAPTURES", 300)
    folder = Folder(tmp_path / "archive")
    with EmbeddedEngine(folder.path) as engine:
        engine.create()
    loads = [range(0, 100), range(100, 200), range(200, 300), range(300, 400)]
    loads += [range(number, number + 1) for number in range(400, 404)]
    for offsets in loads:
        load = Loader(folder, 0.0)
        load.load(chunks(capture("http://a.example/", offset=offset) for offset in offsets))
        load.unlock()
        load.close()
    assert load.merging is Merging.DUE
    with closing(connect(folder.database, read_only=True)) as db:
        found = db.execute("SELECT captures FROM runs ORDER BY run").fetchall()
    assert found == [(100,), (100,), (100,), (100,), (4,)]


@pytest.mark.parametrize("is_older", [False, True])
def test_merges_return_the_pages_of_what_they_merged_to_the_file_system(
    is_older: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merges, "FEW_CAPTURES", 0)
    folder = Folder(tmp_path / "archive")
    with EmbeddedEngine(folder.path) as engine:
        engine.create()
    with closing(connect(folder.database, read_only=False)) as db:
        if is_older:  # an archive created without auto_vacuum
            db.execute("PRAGMA auto_vacuum = NONE")
            db.execute("VACUUM")
        for first in range(0, 20_000, 5_000):
            load = Loader(folder, 1.0)
            urls = {one: sha256(b"%d" % one).hexdigest() for one in range(first, first + 5_000)}
            load.load(chunks(capture(f"http://{url}/", offset=one) for one, url in urls.items()))
            load.unlock()
            load.close()
            load.merge()
        assert len(shown_runs(db)) == 1
        (free,) = db.execute("PRAGMA freelist_count").fetchone()
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        assert (free > pages / 3) if is_older else (free <= pages / 10)
        assert list(table_damage(db)) == []
    with EmbeddedEngine(folder.path, read_only=True) as engine:
        assert engine.count(IndexName.CAPTURES) == 20_000


@pytest.mark.parametrize(
    ("least", "parts", "most", "sizes"),
    [
        (3, 64, 50, [3, 3, 3, 1]),
        (1, 2, 50, [5, 5]),
        (1, 2, 4, [4, 4, 2]),
    ],
)
def test_a_merge_holds_part_of_the_captures(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    least: int,
    parts: int,
    most: int,
    sizes: list[int],
) -> None:
    for name, value in (
        ("MERGED_AT_ONCE", least),
        ("_PARTS", parts),
        ("_MOST_MERGED_AT_ONCE", most),
    ):
        monkeypatch.setattr(merges, name, value)
    held: list[int] = []
    read = merges._next_captures

    def counted(*arguments: Any) -> BlockColumns:
        found = read(*arguments)
        held.append(len(found.get("urlkey", ())))
        return found

    monkeypatch.setattr(merges, "_next_captures", counted)
    monkeypatch.setattr(merges, "FEWEST", 100)
    monkeypatch.setattr(merges, "MOST", 100)
    with EmbeddedEngine(tmp_path / "archive") as engine:
        for offset in range(10):
            engine.load_captures([[capture(f"http://{offset}.example/", offset=offset)]])
        with closing(connect(tmp_path / "archive/archive.sqlite", read_only=False)) as db:
            held.clear()
            with transaction(db):
                merge_runs(db, shown_runs(db))
        assert held == [*sizes, 0]
        assert len(list(engine.captures("", "\U0010ffff"))) == 10


def test_a_merge_that_was_killed_is_dropped_with_no_names_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path / "archive")
    with EmbeddedEngine(folder.path) as engine:
        for offset in range(3):
            engine.load_captures([[capture("http://a.example/", offset=offset)]])
    with closing(connect(folder.database, read_only=False)) as db:
        steps = merges._merge_steps(db, shown_runs(db))
        next(steps)
        steps.close()
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (4,)
        other = capture("http://b.example/", offset=3)._replace(source_file="b.warc.gz")
        with EmbeddedEngine(folder.path) as engine:
            assert engine.load_captures([[other]]) == 1
            assert len(list(engine.captures("", "\U0010ffff"))) == 4
        assert db.execute("SELECT count(*) FROM runs WHERE NOT shown").fetchone() == (0,)


def test_a_check_sees_the_captures_of_one_moment_while_others_merge_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        for offset in range(3):
            engine.load_captures([[capture("http://a.example/", offset=offset)]])
    read = _RunCheck._blocks

    def blocks(check: _RunCheck) -> Iterator[Damage]:
        yield from read(check)
        with closing(connect(tmp_path / "archive/archive.sqlite", read_only=False)) as other:
            if len(runs := shown_runs(other)) > 1:
                with transaction(other):
                    merge_runs(other, runs)

    monkeypatch.setattr(_RunCheck, "_blocks", blocks)
    with closing(connect(tmp_path / "archive/archive.sqlite", read_only=True)) as db:
        assert list(table_damage(db)) == []
        assert len(shown_runs(db)) == 1
