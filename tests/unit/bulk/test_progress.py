"""How far work is, as a value."""

from pathlib import Path
from threading import Event

import pytest

from nwx.bulk.progress import Tally, WorkProgress, estimated_total, no_progress
from nwx.errors import SourceError


def test_what_is_not_told_is_not_known() -> None:
    now = WorkProgress("reading", 5)
    assert (now.total, now.in_bytes, now.files, dict(now.counts)) == (0, False, (0, 0), {})
    no_progress(now)


def test_a_total_from_what_was_found_so_far() -> None:
    assert estimated_total(0, 0, 90) == 0
    assert estimated_total(10, 30, 90) == 30
    assert estimated_total(10, 90, 90) == 10
    assert estimated_total(10, 95, 90) == 10


def test_what_pieces_tell_is_added_up_and_shown(tmp_path: Path) -> None:
    shown: list[WorkProgress] = []
    come = Event()

    def progress(now: WorkProgress) -> None:
        shown.append(now)
        if now.done == 25:
            come.set()

    tally = Tally(tmp_path / "tally")
    with tally.shown("reading", [10, 20], progress):
        with tally.noting(1) as note:
            note(5)
            note(15)
        with tally.noting(0) as note:
            note(10)
        assert come.wait(60)
        with tally.noting(1) as note:
            note(40)  # a size was not known, or the file has grown
    assert WorkProgress("reading", 25, 30) in shown
    assert shown[-1] == WorkProgress("reading", 50, 50)


def test_there_may_be_no_work(tmp_path: Path) -> None:
    shown: list[WorkProgress] = []
    with Tally(tmp_path / "tally").shown("reading", [], shown.append):
        pass
    assert shown == [WorkProgress("reading", 0, 0)]


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(SourceError, match="cannot be written"),
        Tally(tmp_path / "none" / "tally").shown("reading", [1], lambda *_: None),
    ):
        pass
