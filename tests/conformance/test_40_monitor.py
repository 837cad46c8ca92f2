"""Captures that are new since a mark, and crawls monitored by them."""

import threading
from collections.abc import Sequence

import pytest

from nwx.engine.base import Engine
from nwx.errors import StaleMarkError
from nwx.keys import capture_id
from nwx.model import Batch, Capture, IndexName
from tests.conformance.archive import capture
from tests.conformance.engines import Opener


def captures(first: int, last: int, collection: str = "web") -> list[Capture]:
    return [
        capture(f"http://example.org/{number}", offset=number, collection=collection)
        for number in range(first, last)
    ]


def stored(engine: Engine, *found: Capture) -> None:
    engine.write(Batch(captures=found))
    engine.refresh()


def ids(found: Sequence[Capture]) -> set[str]:
    return {capture_id(one.collection, one.source_file, one.source_file_offset) for one in found}


def since(engine: Engine, mark: str, until: str = "", collection: str = "") -> list[Capture]:
    return [found for found, _ in engine.captures_since(mark, until, collection)]


def test_what_is_new_is_told_once(engine: Engine) -> None:
    assert since(engine, "") == []
    stored(engine, *captures(0, 5))
    mark = ""
    found = []
    for one, mark in engine.captures_since(""):  # noqa: B007
        found.append(one)
    assert ids(found) == ids(captures(0, 5)) and len(found) == 5
    assert since(engine, mark) == []
    stored(engine, *captures(3, 9))
    assert ids(since(engine, mark)) == ids(captures(5, 9))


def test_a_mark_within_can_be_gone_on_from(engine: Engine) -> None:
    stored(engine, *captures(0, 2_300))
    told = list(engine.captures_since(""))
    assert ids([one for one, _ in told]) == ids(captures(0, 2_300)) and len(told) == 2_300
    for place in (0, 999, 1_000, 2_298, 2_299):
        rest = since(engine, told[place][1])
        assert ids(rest) == ids([one for one, _ in told[place + 1 :]])


def test_up_to_a_mark_and_of_a_collection(engine: Engine) -> None:
    stored(engine, *captures(0, 4), *captures(0, 2, "other"))
    until = engine.capture_mark()
    stored(engine, *captures(4, 6), *captures(2, 3, "other"))
    assert ids(since(engine, "", until)) == ids(captures(0, 4)) | ids(captures(0, 2, "other"))
    assert ids(since(engine, until)) == ids(captures(4, 6)) | ids(captures(2, 3, "other"))
    assert ids(since(engine, "", collection="other")) == ids(captures(0, 3, "other"))
    assert since(engine, until, until) == []
    assert since(engine, "", collection="nowhere") == []


def test_nothing_is_lost_where_captures_are_deleted(engine: Engine) -> None:
    stored(engine, *captures(0, 6))
    mark = engine.capture_mark()
    engine.delete(IndexName.CAPTURES, ids(captures(3, 6)))
    engine.refresh()
    assert since(engine, mark) == []
    stored(engine, *captures(0, 5), *captures(10, 12))
    assert ids(since(engine, mark)) == ids(captures(3, 5)) | ids(captures(10, 12))
    assert ids(since(engine, "")) == ids(captures(0, 5)) | ids(captures(10, 12))


def test_nothing_is_lost_where_all_are_deleted(open_archive: Opener) -> None:
    with open_archive() as engine:
        assert engine.load_captures([captures(0, 3)]) == 3
        mark = engine.capture_mark()
        engine.unload_captures(ids(captures(0, 3)))
        assert since(engine, mark) == [] and since(engine, "") == []
        assert engine.load_captures([captures(0, 3)]) == 3
        assert ids(since(engine, mark)) == ids(captures(0, 3))


def test_there_is_no_mark_without_an_archive(open_archive: Opener) -> None:
    with open_archive() as engine:
        assert engine.capture_mark() == ""
        engine.create()
        assert engine.capture_mark() != ""
        assert since(engine, engine.capture_mark()) == []


def test_a_mark_holds_when_the_archive_is_opened_again(open_archive: Opener) -> None:
    with open_archive() as engine:
        engine.create()
        stored(engine, *captures(0, 3))
        mark = engine.capture_mark()
        engine.delete(IndexName.CAPTURES, ids(captures(2, 3)))
    with open_archive() as engine:
        stored(engine, *captures(5, 7))
        assert ids(since(engine, mark)) == ids(captures(5, 7))


@pytest.mark.parametrize("mark", ["999999999", "elsewhere:5", "x", "-1", "١"])
def test_a_mark_that_is_not_known(engine: Engine, mark: str) -> None:
    stored(engine, *captures(0, 3))
    with pytest.raises(StaleMarkError):
        since(engine, mark)


def test_several_write_while_others_look(engine: Engine) -> None:
    found: list[Capture] = []
    done = threading.Event()

    def look() -> None:
        mark, last = "", False
        while not last:
            last = done.is_set()
            until = engine.capture_mark()
            found.extend(since(engine, mark, until))
            mark = until

    def write(first: int) -> None:
        for start in range(first, first + 400, 40):
            engine.write(Batch(captures=tuple(captures(start, start + 40))))

    looking = threading.Thread(target=look)
    looking.start()
    writers = [threading.Thread(target=write, args=(first,)) for first in (0, 1_000, 2_000)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    engine.refresh()
    done.set()
    looking.join()
    assert len(found) == len(ids(found)) == 1_200
