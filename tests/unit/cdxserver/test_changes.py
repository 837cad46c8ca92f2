"""Followers receive the changes of a collection in their state at the time of the request."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.cdxserver import changes
from nwx.cdxserver.changes import ChangeFeed
from nwx.cdxserver.loaded_lines import load_lines, unload_lines
from nwx.cdxserver.write_batches import AliasChange, CaptureChange, read_batch
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices import change_log
from nwx.errors import CdxQueryError
from nwx.model import IndexName


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.load_captures(())
        yield engine


def line(name: str, file: str = "") -> bytes:
    text = f"- 20200101000000 http://a.example/{name} text/html 200 - - - 9 7 {file or name}\n"
    return text.encode()


def post(engine: Engine, *lines: bytes, collection: str = "web") -> None:
    load_lines(engine, [b"".join(lines)], collection, skip_bad=False, name="")


def delete(engine: Engine, *lines: bytes) -> None:
    unload_lines(engine, [b"".join(lines)], "web", skip_bad=False, name="")


def told(engine: Engine, since: int = 0, version: int = 3) -> list[str]:
    """Return the changes after a number: `number +urlkey`, with the file, `-urlkey` or `alias>`."""
    found = []
    for number, data in ChangeFeed(engine, "web", version).batches(since):
        for change in read_batch(data):
            if isinstance(change, AliasChange):
                found.append(f"{number} {change.alias[-1]}>{change.target[-1:]}")
            elif isinstance(change, CaptureChange):
                key = f"{change.key.urlkey[-1]}{change.key.filename}"
                found.append(f"{number} " + (f"+{key}" if change.row else f"-{key}"))
    return found


def test_captures_are_told_once_in_numbered_batches(engine: Engine) -> None:
    post(engine, line("a"), line("b"))
    feed = ChangeFeed(engine, "web")
    assert feed.sequence() == 1
    assert told(engine) == ["1 +a", "1 +b"]
    assert (feed.sequence(), told(engine, 1)) == (1, [])
    post(engine, line("x"), collection="other")
    assert (feed.sequence(), told(engine, 1)) == (1, [])
    post(engine, line("c"))
    assert feed.sequence() == 2
    assert told(engine, 1) == ["2 +a", "2 +b", "2 +c"]  # small batches are combined
    with pytest.raises(CdxQueryError, match="no change 3"):
        told(engine, 3)


def test_batches_are_of_some_size(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "CAPTURES_A_BATCH", 2_000)
    post(engine, *(line(f"{number}/a") for number in range(5_000)))
    feed = ChangeFeed(engine, "web")
    assert [number for number, _ in feed.batches(0, size=1)] == [1]
    sizes = [len(list(read_batch(data))) for _, data in feed.batches(0)]
    assert (sizes, feed.sequence()) == ([2_000, 2_000, 1_000], 3)


def test_deletions_are_told_as_long_as_they_last(engine: Engine) -> None:
    post(engine, line("a"), line("b"), line("c"))
    delete(engine, line("c"))  # before the first follower
    assert told(engine) == ["1 +a", "1 +b"]
    delete(engine, line("a"), line("b"))
    assert told(engine) == ["2 -a", "2 -b"]
    post(engine, line("a"))
    assert told(engine, 1) == ["2 +a", "2 -b", "3 +a"]


def test_deletions_are_forgotten_after_some_days(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(engine, line("a"), line("b"), line("c"))
    told(engine)
    monkeypatch.setattr(change_log, "KEPT_DAYS", -1)
    delete(engine, line("a"))
    monkeypatch.setattr(change_log, "KEPT_DAYS", 1)
    delete(engine, line("b"))
    entries = list(engine.entry_store(IndexName.CHANGES).find())
    assert "example,a)/a" not in str(entries)
    assert "example,a)/b" in str(entries)
    assert told(engine) == ["1 +c", "3 -b"]  # a new follower has nothing to delete
    assert told(engine, 2) == ["3 -b"]
    with pytest.raises(CdxQueryError, match="deletions up to 2 were dropped"):
        told(engine, 1)
    post(engine, line("d"))
    assert told(engine, 3)[-1] == "4 +d"


def test_captures_of_one_moment(engine: Engine) -> None:
    post(engine, line("a", "FIRST"), line("a", "SECOND"))
    told(engine)
    delete(engine, line("a", "SECOND"))
    assert told(engine, 1) == ["2 +a"]  # of equal timestamps the first one is left
    assert told(engine, 1, version=4) == ["2 -aSECOND"]


def test_aliases_move_captures(engine: Engine) -> None:
    post(engine, line("a"), line("b"))
    told(engine)
    alias = b"@alias http://a.example/a http://a.example/b\n"
    post(engine, alias)
    assert told(engine, 1, version=4) == ["2 a>b", "2 -aa", "2 +ba"]
    post(engine, b"@alias http://a.example/b http://a.example/c\n")
    assert told(engine, 2, version=4) == ["3 b>c", "3 -bb", "3 +cb", "3 -ba", "3 +ca"]
    delete(engine, alias)
    assert told(engine, 3, version=4) == ["4 a>", "4 -ca", "4 +aa"]
    assert told(engine, 0, version=4)[:2] == ["1 +aa", "1 +cb"]


def test_other_versions_are_refused(engine: Engine) -> None:
    with pytest.raises(CdxQueryError, match="choose 3 or 4"):
        ChangeFeed(engine, "web", 5)
