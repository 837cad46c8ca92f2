"""What is counted of a queue is checked against its URLs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nwx.checks.agreement import check
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.crawl_queue import UrlUpdate


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ("UPDATE crawls SET waiting = waiting + 1", "one", "counts of the crawl"),
        ("UPDATE host_queues SET best = 0.9", "b.example", "best priority"),
        ("UPDATE host_queues SET given = 3 WHERE best IS NULL", "a.example", "pages of the host"),
        ("UPDATE hosts SET in_flight = 0", "a.example", "in flight"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: str, place: str, words: str) -> None:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        queue = engine.crawl_queue()
        queue.put([UrlUpdate("http://a.example/", 1, crawl="one")])
        queue.put([UrlUpdate("http://b.example/", 0.5, crawl="one")])
        queue.lease(1)
        assert list(queue.problems()) == []
        with closing(sqlite3.connect(tmp_path / "archive" / "queue.db")) as db, db:
            db.execute(change)
        found = {(one.id, one.kind) for one in check(engine) if words in one.message}
        assert (place, "queue") in found
