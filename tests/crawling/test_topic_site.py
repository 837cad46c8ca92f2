"""The synthetic web is reproducible and reachable, and has its traps."""

import re
import urllib.request
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from benchmarks.topic_pages import SEEDS, Target, TopicPages, write_topic_warc
from tests.crawling.topic_site import running_topic_site

_LINK = re.compile(rb'<a [^>]*href="([^"]+)"')


def breadth_first(made: TopicPages, most: int) -> list[Target]:
    """Return the first pages of a crawl from the seeds, in order."""
    waiting = [Target(*seed) for seed in SEEDS]
    seen, fetched = set(waiting), []
    for target in waiting:
        body = made.body(*target)
        if body is None or len(fetched) == most:
            continue
        fetched.append(target)
        for link in _LINK.findall(body):
            parts = urlsplit(urljoin(f"http://{target.host}{target.path}", unescape(link.decode())))
            query = f"?{parts.query}" if parts.query else ""
            found = Target(parts.netloc, f"{parts.path}{query}")
            if found not in seen:
                seen.add(found)
                waiting.append(found)
    return fetched


def test_all_pages_can_be_reached() -> None:
    made = TopicPages()
    fetched = breadth_first(made, 1500)
    assert set(made.pages) < set(fetched), "all pages, and some of traps"
    assert len(fetched) == 1500, "traps have no end"


def test_few_pages_are_relevant_and_breadth_first_does_not_find_them_first() -> None:
    made = TopicPages()
    relevant = [target for target, page in made.pages.items() if page.relevant]
    assert 350 <= len(made.pages) <= 450
    assert 60 <= len(relevant) <= 80
    quarter = breadth_first(made, len(made.pages) // 4)
    assert len(set(quarter) & set(relevant)) < len(relevant) / 3


def test_it_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    assert write_topic_warc(first).read_bytes() == write_topic_warc(second).read_bytes()


def test_served_pages_are_listed_in_the_order_they_are_fetched() -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with running_topic_site() as site:
        urls = [*site.made.seeds, sorted(site.made.relevant)[0]]
        for url in urls:
            with opener.open(url, timeout=60) as answer:
                assert b"<h1>" in answer.read()
        assert site.fetched == urls
        assert site.relevant_of(len(urls)) == 1
        assert len({urlsplit(url).hostname for url in urls[:4]}) == 4
