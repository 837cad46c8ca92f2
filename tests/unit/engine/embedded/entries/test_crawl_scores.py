"""The links of a host are the same, whether sorted or found in the global order."""

from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.entries import crawl_scores
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore


def test_links_of_small_and_large_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = tuple(
        LinkScore(f"http://h{n % 3}.test/{n}", None if n % 17 == 0 else n % 5 / 5)
        for n in range(150)
    )
    with EmbeddedEngine(tmp_path / "archive") as engine:
        crawls = engine.crawl_index()
        page = ("votes", "v1", "1", "http://page.test/", "20260102030405", 0.5)
        crawls.put_scores([DocumentScore(*page, links=links)])
        everything = crawls.best_links("votes", 1_000)
        assert len(everything) == 150
        for few in (20_000, 10):
            monkeypatch.setattr(crawl_scores, "_FEW", few)
            for host in ("h0.test", "h2.test"):
                of_host = [one for one in everything if f"//{host}/" in one.url]
                assert crawls.best_links("votes", 1_000, host=host) == of_host
                assert crawls.best_links("votes", 5, 7, host) == of_host[7:12]
            assert crawls.best_links("votes", 9, host="h3.test") == []
