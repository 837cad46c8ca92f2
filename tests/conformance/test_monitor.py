"""Captures added since a marker, and crawls monitored by them."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.errors import StaleMarkError
from nwx.keys import capture_id
from nwx.model import Batch, Capture, Document, IndexName
from nwx.quality.monitor.report import AlertKind, MonitorReport
from nwx.quality.monitor.state import read_monitor
from nwx.values.timestamps import to_timestamp
from tests.conformance.archive import batch, capture, page
from tests.conformance.engines import Opener
from tests.unit.quality.monitor.made_crawls import BEGIN, MadeCrawl, kinds, log_line

ABOVE_ENGINES = True


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


LATER = to_timestamp(BEGIN + timedelta(minutes=1))
TEXTS = "river bridge harbour winter letter music garden stone market summer paper window".split()


def text_of(number: int) -> str:
    """Return a unique text."""
    words = [TEXTS[(number * 7 + place * place) % len(TEXTS)] for place in range(60)]
    return " ".join(f"{word}{number * 31 + place}" for place, word in enumerate(words))


def pages_of(host: str, count: int, content: str = "", **more: object) -> list[Document]:
    """Return pages of a host, with different texts or nearly the same one."""
    return [
        page(
            f"http://{host}/{number}",
            LATER,
            f"{content} {number}" if content else text_of(number),
            title=content or f"page {number}",
            signature="same" if content else "",
            **more,
        )
        for number in range(count)
    ]


def looked(crawl: MadeCrawl) -> MonitorReport:
    monitor = crawl.monitor()
    report = monitor.look()
    monitor.close()
    assert read_monitor(crawl.engine, "floods") is not None
    return report


@pytest.fixture
def crawl(engine: Engine, tmp_path: Path) -> MadeCrawl:
    made = MadeCrawl(engine, tmp_path, with_log=False)
    made.clock.now = BEGIN + timedelta(minutes=2)
    return made


def test_new_documents_known_ones_and_revisits(crawl: MadeCrawl) -> None:
    pages = pages_of("a.example", 4)
    again = [
        capture(
            one.capture.url,
            to_timestamp(BEGIN + timedelta(minutes=2)),
            digest=one.capture.digest,
            record_type=kind,
            source_file="b.warc.gz",
        )
        for one, kind in zip(pages, ("response", "response", "revisit", "revisit"), strict=True)
    ]
    missing = capture("http://a.example/lost", LATER, status=404, length=50)
    other = capture("http://a.example/other", LATER, collection="other")
    render = capture("urn:view:http://a.example/", LATER, record_type="resource")
    crawl.engine.write(batch(pages))
    stored(crawl.engine, *again, missing, other, render)
    for _ in range(2):
        report = looked(crawl)
        assert (report.totals.captures, report.totals.pages, report.totals.errors) == (9, 8, 1)
        assert (report.totals.bytes, report.archived_bytes) == (8_050, 8_050)
        assert (report.totals.new_documents, report.documents_known, report.revisits) == (4, 2, 2)
        assert report.totals.duplicates == 4 and report.new_share == 4 / 6
        assert report.statuses == {200: 8, 404: 1}
        assert [one.captures for one in report.minutes] == [5, 4]
        assert [(one.host, one.captures) for one in report.hosts] == [("a.example", 9)]
        assert report.alerts == () and report.archived == 9


def test_a_healthy_crawl_alerts_nobody(crawl: MadeCrawl) -> None:
    for host in ("a.example", "b.example"):
        crawl.engine.write(batch(pages_of(host, 300)))
    crawl.engine.refresh()
    report = looked(crawl)
    assert report.totals.captures == 600 and report.alerts == ()


def test_a_wall_a_trap_and_robots(crawl: MadeCrawl) -> None:
    crawl.engine.write(batch(pages_of("wall.example", 40, "please log in to read on")))
    trap = [
        capture(f"http://trap.example/{number}", LATER, body=f"{number % 5}")
        for number in range(300)
    ]
    crawl.engine.write(Batch(captures=tuple(trap)))
    robots = page(
        "http://closed.example/robots.txt",
        LATER,
        "User-agent: *\nDisallow: /",
        content_type="text/plain",
    )
    errors = [capture(f"http://sick.example/{n}", LATER, status=503) for n in range(30)]
    crawl.engine.write(batch([robots]))
    crawl.engine.write(batch(pages_of("well.example", 40)))
    stored(crawl.engine, *errors)
    report = looked(crawl)
    assert kinds(report.alerts) == {
        (AlertKind.WALL, "wall.example"),
        (AlertKind.TRAP, "trap.example"),
        (AlertKind.ROBOTS, "closed.example"),
        (AlertKind.ERRORS, "sick.example"),
    }
    (wall,) = (alert for alert in report.alerts if alert.kind is AlertKind.WALL)
    assert "please log in to read on" in wall.message


def test_what_log_and_archive_both_tell_counts_once(crawl: MadeCrawl) -> None:
    crawl.with_log = True
    fetched = BEGIN + timedelta(minutes=1)
    urls = [f"http://a.example/{number}" for number in range(30)]
    before = [capture(f"{url}/old", "20200101000000") for url in urls[:7]]
    crawl.write(log_line(url, fetched + timedelta(seconds=1), took_ms=1_000) for url in urls[:20])
    stored(crawl.engine, *(capture(url, to_timestamp(fetched)) for url in urls[:10]), *before)
    report = looked(crawl)
    assert (report.totals.captures, report.archived, report.log_lines) == (27, 17, 20)
    crawl.write(log_line(url, fetched + timedelta(seconds=1), took_ms=1_000) for url in urls[20:])
    crawl.write([log_line("http://b.example/", fetched, -2)])
    stored(crawl.engine, *(capture(url, to_timestamp(fetched)) for url in urls))
    report = looked(crawl)
    assert (report.totals.captures, report.archived, report.log_lines) == (37, 37, 31)
    assert report.totals.bytes == 37_000 and report.statuses == {-2: 1, 200: 37}


def test_captures_that_were_made_anew_are_counted_anew(crawl: MadeCrawl) -> None:
    stored(crawl.engine, *captures(0, 5))
    monitor = crawl.monitor()
    monitor.look()
    monitor._state.mark = "999999"
    report = monitor.look()
    monitor.close()
    assert report.totals.captures == report.archived == 5
    (problem,) = report.problems
    assert "everything was counted again" in problem.message


def test_the_queue_of_a_crawl(crawl: MadeCrawl) -> None:
    queue = crawl.engine.crawl_queue()
    queue.put([UrlUpdate(f"http://a.example/{n}", 0.5, crawl="floods") for n in range(3)])
    queue.finish([one.lease for one in queue.lease(1, crawl="floods")])
    report = looked(crawl)
    assert (report.queued, report.queue_source) == (2, "nwx")
    assert report.queue == {"waiting": 2, "leased": 0, "done": 1, "blacklisted": 0}
