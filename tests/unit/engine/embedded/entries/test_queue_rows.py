"""The counts of a queue are checked against its URLs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.maintenance.agreement import check


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


def test_urls_with_a_port_leave_the_queue_of_their_bare_host(tmp_path: Path) -> None:
    """Files of format 1 stored them that way."""
    urls = [f"http://a.example{port}/" for port in ("", ":8080", ":81")]
    with EmbeddedEngine(tmp_path / "archive") as engine:
        queue = engine.crawl_queue()
        queue.put([UrlUpdate(url, 0.5, crawl="one") for url in urls])
        queue.lease(1, host="a.example:81")
    with closing(sqlite3.connect(tmp_path / "archive" / "queue.db")) as db, db:
        (bare,) = db.execute(
            "SELECT host_queues.num FROM host_queues JOIN hosts ON hosts.num = host_queues.host"
            " WHERE hosts.host = 'a.example'"
        ).fetchone()
        db.execute("UPDATE urls SET queue = ?", (bare,))
        db.execute("UPDATE host_queues SET given = num = ?, best = NULL", (bare,))
        db.execute("UPDATE host_queues SET best = 0.5, first = 1 WHERE num = ?", (bare,))
        db.execute("UPDATE hosts SET in_flight = host = 'a.example'")
        db.execute("PRAGMA user_version = 1")
    with EmbeddedEngine(tmp_path / "archive") as engine:
        queue = engine.crawl_queue()
        queue.put([UrlUpdate("http://b.example/", 0.1, crawl="one")])
        assert list(queue.problems()) == []
        hosts = {one.url: one.host for one in queue.scan("one")}
        assert [hosts[url] for url in urls] == ["a.example", "a.example:8080", "a.example:81"]
        assert [one.url for one in queue.lease(1, host="a.example:8080")] == [urls[1]]
