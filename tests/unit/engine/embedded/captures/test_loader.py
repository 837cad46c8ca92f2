"""Loads of captures, and the log that they leave behind."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.capabilities import Damage
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.captures import loader
from nwx.engine.embedded.captures.loader import EndedLoads, Loader
from nwx.engine.embedded.captures.merges import merge_runs
from nwx.engine.embedded.captures.runs import shown_runs
from nwx.engine.embedded.checks.capture_blocks import _RunCheck
from nwx.engine.embedded.checks.tables import table_damage
from nwx.engine.embedded.database import connect
from nwx.engine.embedded.folder import Folder
from nwx.engine.sqlite_files import transaction
from nwx.model import IndexName
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
        loads[-1].load([[capture("http://a.example/", offset=offset) for offset in offsets]])
        loads[-1].unlock()
        sizes.append(log.stat().st_size)
    for load in loads:
        load.close()
    assert sizes[-1] < 2 * sizes[0]
    with EmbeddedEngine(tmp_path / "archive", read_only=True) as engine:
        assert engine.count(IndexName.CAPTURES) == 6000


class _Load:
    """A load that takes until it may end, if it takes a while."""

    def __init__(self, *, long: bool) -> None:
        self._long = long
        self.may_end = threading.Event()
        self.steps: list[str] = []

    def unlock(self) -> bool:
        self.steps.append("unlocked")
        return self._long

    def close(self) -> None:
        if self._long:
            assert self.may_end.wait(10)
        self.steps.append("closed")


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
