"""Updates to the queue, and when a page counts as analysed."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from nwx.captures import PagePlace
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.errors import EngineError
from nwx.steering.analysis.link_learner import EXPLORED
from nwx.steering.options import SteeringReport
from nwx.steering.score_writer import ScoreWriter
from nwx.steering.specifications.specification import CrawlSpecification, Limits
from tests.hostile_analysis import STONES

VERSION = STONES.version()


def writer_of(engine: Engine, specification: CrawlSpecification = STONES) -> ScoreWriter:
    return ScoreWriter(engine, specification, SteeringReport("stones", VERSION), 0)


def add(writer: ScoreWriter, number: int, links: Sequence[LinkScore], hops: str = "") -> None:
    url = f"http://a.example/{number}"
    place = PagePlace(str(number), url, "20150101000000", "default", "a.warc.gz", number, hops)
    writer.add(
        place,
        DocumentScore("stones", VERSION, str(number), url, place.timestamp, 1, links=tuple(links)),
    )


def queued(engine: Engine) -> dict[str, float | None]:
    return {each.url: each.priority for each in engine.crawl_queue().scan("stones")}


def test_relevant_and_blacklisted_links_are_sent(engine: Engine) -> None:
    writer = writer_of(engine)
    add(
        writer,
        1,
        [
            LinkScore("http://good.example/", 0.8),
            LinkScore("http://poor.example/", 0.1),
            LinkScore("http://broken.example/\ud800", 0.9),
            LinkScore("http://long.example/" + "a" * 10_000, 0.9),
            LinkScore("http://spam.example/", None),
        ],
    )
    assert engine.crawl_index().analysed("stones", VERSION, {"1"}) == set()
    assert writer.flush() == ["1"]
    assert queued(engine) == {"http://good.example/": 0.8, "http://spam.example/": None}
    assert engine.crawl_index().analysed("stones", VERSION, {"1"}) == {"1"}


def test_a_url_keeps_its_highest_priority(engine: Engine) -> None:
    writer = writer_of(engine)
    for number, relevance in enumerate((0.5, 0.9, 0.4)):
        add(writer, number, [LinkScore("http://good.example/", relevance)])
        writer.flush()
    assert queued(engine) == {"http://good.example/": 0.9}
    writer = writer_of(engine)  # of a later run
    add(writer, 5, [LinkScore("http://good.example/", 0.6)])
    writer.flush()
    assert queued(engine) == {"http://good.example/": 0.9}
    add(writer, 3, [LinkScore("http://good.example/", None)])
    add(writer, 4, [LinkScore("http://good.example/", 1.0)])
    writer.flush()
    assert queued(engine) == {"http://good.example/": None}


def test_what_is_learned_changes_links_and_waiting_urls(engine: Engine) -> None:
    """Pages of /dull/ prove irrelevant: later and queued links there get lower priorities."""
    writer = writer_of(engine)
    dull = [LinkScore(f"http://d.example/dull/{n}", 0.6, "content") for n in range(9)]
    add(writer, 1, dull)
    writer.flush()
    for number, link in enumerate(dull[:6], 10):
        place = PagePlace(str(number), link.url, "20150101000000", "default", "a.gz", number, "")
        page = DocumentScore("stones", VERSION, str(number), link.url, place.timestamp, 0.0)
        writer.add(place, page)
    later = LinkScore("http://d.example/dull/9", 0.6, "content")
    add(writer, 2, [later])
    writer.flush()
    priorities = queued(engine)
    assert (priorities["http://d.example/dull/8"] or 1) < 0.55
    [stored] = engine.crawl_index().best_links("stones", 1, offset=9)
    assert stored.url == later.url and stored.parts["learned"] < 0
    assert stored.relevance == priorities[later.url]


def test_the_url_found_first_is_explored_while_priorities_are_low(engine: Engine) -> None:
    writer = writer_of(engine)
    links = [LinkScore(f"http://d.example/{n}", 0.5 - n / 100, "content") for n in range(9)]
    add(writer, 1, links[::-1])
    for number, link in enumerate(links[:4], 10):
        place = PagePlace(str(number), link.url, "20150101000000", "default", "a.gz", number, "")
        writer.add(
            place,
            DocumentScore("stones", VERSION, str(number), link.url, place.timestamp, 0.0),
        )
    writer.flush()
    best = max(queued(engine).items(), key=lambda one: one[1] or 0)
    assert best == (links[8].url, EXPLORED)


def test_a_queue_elsewhere_is_told_through_the_outbox(engine: Engine) -> None:
    queue = "http://crawler.example/urls"
    writer = writer_of(engine, replace(STONES, queue=queue))
    add(writer, 1, [LinkScore("http://good.example/", 0.8)])
    writer.flush()
    [(_, update)] = engine.outbox().pending(queue, 10)
    assert update[:4] == ("http://good.example/", 0.8, "http://a.example/1", "stones")
    assert queued(engine) == {}


def test_links_beyond_the_limits_are_scored_and_not_sent(engine: Engine) -> None:
    writer = writer_of(engine, replace(STONES, limits=Limits(depth=2)))
    add(writer, 1, [LinkScore("http://deep.example/", 0.8)], hops="LL")
    add(writer, 2, [LinkScore("http://near.example/", 0.8)], hops="LE")
    add(writer, 3, [LinkScore("http://spam.example/", None)], hops="LL")
    writer.flush()
    assert queued(engine) == {"http://near.example/": 0.8, "http://spam.example/": None}
    links = engine.crawl_index().best_links("stones", 10)
    assert len(links) == 3


def test_pages_are_analysed_again_where_their_scores_were_not_stored(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(scores: Sequence[DocumentScore]) -> None:
        raise EngineError("no space left")

    writer = writer_of(engine)
    with monkeypatch.context() as patched, pytest.raises(EngineError):
        patched.setattr(engine.crawl_index(), "put_scores", refuse)
        add(writer, 1, [LinkScore("http://good.example/", 0.8)])
        writer.flush()
    assert queued(engine) == {"http://good.example/": 0.8}
    assert engine.crawl_index().analysed("stones", VERSION, {"1"}) == set()
    again = writer_of(engine)
    add(again, 1, [LinkScore("http://good.example/", 0.8)])
    again.flush()
    assert queued(engine) == {"http://good.example/": 0.8}
    assert engine.crawl_index().analysed("stones", VERSION, {"1"}) == {"1"}


def test_seeds_are_sent_and_keep_their_priority(engine: Engine) -> None:
    seeds = ("http://a.example/", "http://b.example/")
    writer = writer_of(engine, replace(STONES, seeds=seeds))
    writer.send_seeds()
    add(writer, 1, [LinkScore("http://a.example/", 0.8)])
    writer.flush()
    assert queued(engine) == dict.fromkeys(seeds, 1.0)
