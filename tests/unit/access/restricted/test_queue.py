"""The crawler's queue is listed and counted without hidden URLs, and works as ever."""

from pathlib import Path

from nwx.access.restricted.engine import RestrictedEngine
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.model import IndexName
from tests.unit.access.restricted.archives import HIDDEN, SHOWN, archive_of_pages, hiding


def test_hidden_urls_are_queued_but_not_listed(tmp_path: Path) -> None:
    with archive_of_pages(tmp_path / "archive") as engine:
        queue = RestrictedEngine(engine, hiding()).crawl_queue()
        queue.put(
            [
                UrlUpdate(f"{SHOWN}new", 0.5, via=f"{SHOWN}1", crawl="votes"),
                UrlUpdate("http://other.test/", 0.25, via=f"{HIDDEN}1", crawl="votes"),
                UrlUpdate(f"{HIDDEN}new", 1.0, crawl="votes"),
            ]
        )
        listed = [(one.url, one.via) for one in queue.scan("votes")]
        assert listed == [(f"{SHOWN}new", f"{SHOWN}1"), ("http://other.test/", "")]
        assert queue.counts().total == queue.counts("votes").waiting == 2
        assert engine.crawl_queue().counts().total == 3
        shown = RestrictedEngine(engine, hiding())
        entries = [one for one in shown.scan(IndexName.QUEUE) if "url" in one]
        assert {(one["url"], one.get("via", "")) for one in entries} == set(listed)
        leased = queue.lease(1)
        assert [one.url for one in leased] == [f"{HIDDEN}new"]
        assert queue.finish([one.lease for one in leased]) == 1
