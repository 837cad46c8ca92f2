"""A feed, and a folder in the form that Heritrix writes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from nwx.engine.indices.crawl_queue import QueuedUrl, UrlState
from nwx.errors import CrawlerError, CrawlerUnavailableError, EngineBusyError, NwxError, UsageError
from nwx.steering.adapters import feed_state, heritrix_feed
from nwx.steering.adapters.feed_state import FeedState
from nwx.steering.adapters.heritrix_feed import (
    FeedCounts,
    FeedOptions,
    HeritrixFeed,
    HeritrixJob,
    ScheduleLine,
    SeedForm,
    best_waiting,
    blacklisted,
    run_feed,
    seed_file,
)
from tests.unit.steering.queue.fake_queue import FakeQueue

URLS = [f"http://a.example/{number}" for number in range(6)]


class Job:
    """Simulates Heritrix's effects on its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "crawler-beans.cxml").touch()

    def launch(self, name: str) -> None:
        (self.folder / name / "logs").mkdir(parents=True)
        (self.folder / name / "actions-done").mkdir()
        (self.folder / "latest").unlink(missing_ok=True)
        (self.folder / "latest").symlink_to(name)

    def read_actions(self) -> dict[str, list[str]]:
        """Consume the action directory; return the URLs by file extension."""
        found: dict[str, list[str]] = {}
        for path in sorted((self.folder / "action").glob("*")):
            lines = path.read_text().splitlines()
            found.setdefault(path.suffix, []).extend(
                line.split()[1] for line in lines if line.startswith("F+")
            )
            path.rename(self.folder / "latest" / "actions-done" / f"20260101000000000.{path.name}")
        return found

    def fetch(self, *urls: str) -> None:
        with (self.folder / "latest" / "logs" / "crawl.log").open("a") as log:
            log.writelines(f"2026-01-01T00:00:00Z 200 1 {url} LE - - - - - - -\n" for url in urls)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue({url: 1 - number / 10 for number, url in enumerate(URLS)})


@pytest.fixture
def state(tmp_path: Path) -> Iterator[FeedState]:
    state = FeedState(tmp_path)
    yield state
    state.close()


def feed_of(job: Job, state: FeedState, queue: FakeQueue, ahead: int = 3) -> HeritrixFeed:
    return HeritrixFeed(HeritrixJob(job.folder), state, queue, FeedOptions(ahead=ahead))


def test_the_best_are_given_and_more_when_these_are_fetched(
    job: Job, state: FeedState, queue: FakeQueue
) -> None:
    feed = feed_of(job, state, queue)
    assert not feed.turn(), "the job was never launched"
    job.launch("first")
    assert feed.turn()
    assert job.read_actions() == {".schedule": URLS[:3]}
    assert not feed.turn()
    job.fetch(URLS[1], "http://a.example/style.css")
    assert feed.turn()
    assert queue.finished == [URLS[1]]
    assert job.read_actions() == {".schedule": URLS[3:4]}
    assert (feed.counts.given, feed.counts.fetched) == (4, 1)


def test_a_feed_that_was_killed_goes_on_and_gives_nothing_twice(
    job: Job, state: FeedState, queue: FakeQueue
) -> None:
    job.launch("first")
    feed_of(job, state, queue).turn()
    job.read_actions()
    job.fetch(URLS[0])
    feed_of(job, state, queue).turn()
    assert queue.finished == [URLS[0]]
    assert job.read_actions() == {".schedule": URLS[3:4]}


def test_what_was_noted_but_not_written_is_given_by_the_next_feed(
    job: Job, state: FeedState, queue: FakeQueue
) -> None:
    job.launch("first")
    feed_of(job, state, queue).turn()
    for path in (job.folder / "action").iterdir():
        path.unlink()
    feed_of(job, state, queue).turn()
    assert sorted(job.read_actions()[".schedule"]) == URLS[:3]


def test_a_new_launch_is_given_all_that_the_one_before_did_not_fetch(
    job: Job, state: FeedState, queue: FakeQueue
) -> None:
    job.launch("first")
    feed = feed_of(job, state, queue)
    feed.turn()
    job.read_actions()
    job.fetch(URLS[0])
    job.launch("second")
    feed.turn()
    assert queue.finished == [URLS[0]]
    assert sorted(job.read_actions()[".schedule"]) == URLS[1:4]
    job.fetch(*URLS[1:4])
    feed.turn()
    assert sorted(queue.finished) == URLS[:4]


def test_a_part_of_the_log_without_pages_is_passed_over(
    job: Job, state: FeedState, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_state, "_MOST_BYTES", 200)
    job.launch("first")
    feed = feed_of(job, state, queue)
    feed.turn()
    job.fetch(*["dns:a.example"] * 9, URLS[0])
    feed.turn()
    assert queue.finished == [URLS[0]]


def test_a_queue_that_is_away_loses_no_fetch(job: Job, state: FeedState, queue: FakeQueue) -> None:
    job.launch("first")
    feed = feed_of(job, state, queue)
    feed.turn()
    job.fetch(URLS[0])
    queue.away = True
    with pytest.raises(CrawlerUnavailableError):
        feed.turn()
    queue.away = False
    feed.turn()
    assert queue.finished == [URLS[0]]


def test_what_heritrix_has_found_by_itself_is_not_given_once_more(
    job: Job, state: FeedState, queue: FakeQueue
) -> None:
    job.launch("first")
    job.fetch(URLS[0])
    feed = feed_of(job, state, queue)
    feed.turn()
    assert queue.finished == [URLS[0]]
    assert job.read_actions() == {".schedule": URLS[1:3]}
    assert feed.counts.known == 1


def test_what_the_queue_gives_again_after_it_was_fetched_is_forced(
    job: Job, state: FeedState, queue: FakeQueue
) -> None:
    job.launch("first")
    feed = feed_of(job, state, queue)
    feed.turn()
    job.read_actions()
    job.fetch(*URLS[:3])
    queue.waiting = {URLS[0]: 1.0, URLS[5]: 0.5}
    feed.turn()
    assert job.read_actions() == {".force": [URLS[0]], ".schedule": [URLS[5]]}


def test_a_url_that_heritrix_never_logs_is_given_up_after_its_second_lease(
    job: Job, state: FeedState, queue: FakeQueue
) -> None:
    job.launch("first")
    feed = feed_of(job, state, queue, ahead=10)
    for _ in range(3):
        queue.waiting = {URLS[0]: 1.0}
        feed.turn()
    assert queue.finished == [URLS[0]]
    assert feed.counts.unanswered == 1
    assert not state.scheduled()


def test_urls_that_heritrix_never_logs_hold_up_no_others(
    job: Job, state: FeedState, queue: FakeQueue
) -> None:
    now = 0.0
    job.launch("first")
    options = FeedOptions(ahead=2, lease_seconds=600)
    feed = HeritrixFeed(HeritrixJob(job.folder), state, queue, options, lambda: now)
    feed.turn()
    now = 599.0
    assert not feed.turn()
    now = 601.0
    assert feed.turn()
    assert job.read_actions() == {".schedule": URLS[:4]}


@dataclass
class Turns:
    """A feed whose turns end with the listed results."""

    ends: list[bool | NwxError]
    counts: FeedCounts = field(default_factory=FeedCounts)

    def turn(self) -> bool:
        end = self.ends.pop(0)
        if isinstance(end, NwxError):
            raise end
        self.counts.given += end
        return end


def run(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[str]]:
    shown: list[int] = []
    told: list[str] = []
    monkeypatch.setattr(heritrix_feed, "_rest", lambda seconds, stopping: None)
    run_feed(
        cast(HeritrixFeed, turns),
        1.0,
        lambda: not turns.ends,
        lambda counts: shown.append(counts.given),
        lambda error, seconds: told.append(f"{error} {seconds:g}"),
    )
    return shown, told


def test_what_happened_is_shown_and_what_is_away_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy = EngineBusyError("busy")
    shown, told = run(Turns([True, busy, busy, False, busy, True]), monkeypatch)
    assert shown == [1, 2]
    assert told == ["busy 1", "busy 2", "busy 1"]


def test_what_does_not_pass_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CrawlerError, match="the token is wrong"):
        run(Turns([CrawlerError("the token is wrong"), True]), monkeypatch)


@pytest.fixture
def waiting_job(job: Job) -> HeritrixJob:
    return HeritrixJob(job.folder)


def test_urls_are_scheduled_in_files_that_are_whole(waiting_job: HeritrixJob) -> None:
    lines = [
        ScheduleLine("http://a.example/1", "LL", "http://a.example/"),
        ScheduleLine("http://a.example/a b\nF+ http://evil.example/", "", ""),
        ScheduleLine("http://a.example/2", "L", "http://a.example/", again=True),
    ]
    waiting_job.schedule(lines, 7)
    actions = waiting_job.folder / "action"
    assert (actions / "nwx-000000000007.schedule").read_text() == (
        "F+ http://a.example/1 LL http://a.example/\n"
        "F+ http://a.example/a%20b%0AF+%20http://evil.example/ L"
        " http://a.example/a%20b%0AF+%20http://evil.example/\n"
    )
    assert (actions / "nwx-000000000007.force").read_text() == (
        "F+ http://a.example/2 L http://a.example/\n"
    )
    assert {path.name for path in waiting_job.folder.iterdir()} == {"action", "crawler-beans.cxml"}


def test_a_page_before_that_is_no_url_is_left_out(waiting_job: HeritrixJob) -> None:
    waiting_job.schedule([ScheduleLine("http://a.example/1", "L", " \n")], 1)
    written = (waiting_job.folder / "action" / "nwx-000000000001.schedule").read_text()
    assert written == "F+ http://a.example/1 L http://a.example/1\n"


def test_a_file_was_given_when_it_waits_or_was_read_by_that_launch(
    waiting_job: HeritrixJob,
) -> None:
    waiting_job.schedule([ScheduleLine("http://a.example/1", "L", "")], 3)
    assert waiting_job.was_given(3, "first")
    assert not waiting_job.was_given(4, "first")
    done = waiting_job.folder / "first" / "actions-done"
    done.mkdir(parents=True)
    (waiting_job.folder / "action" / "nwx-000000000003.schedule").rename(
        done / "20260101000000000.nwx-000000000003.schedule"
    )
    assert waiting_job.was_given(3, "first")
    assert not waiting_job.was_given(3, "second")


def test_the_last_launch_is_that_of_the_link(waiting_job: HeritrixJob) -> None:
    assert waiting_job.launch == ""
    (waiting_job.folder / "20260101000000").mkdir()
    (waiting_job.folder / "latest").symlink_to("20260101000000")
    assert waiting_job.launch == "20260101000000"


def test_a_folder_without_configuration_is_no_job(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"crawler-beans\.cxml"):
        HeritrixJob(tmp_path)


def test_files_that_a_launch_left_open_are_closed(waiting_job: HeritrixJob) -> None:
    warcs = waiting_job.folder / "first" / "warcs"
    warcs.mkdir(parents=True)
    names = ["a.warc.gz.open", "b.warc.open", "b.warc", "c.log.open", "d.warc.gz"]
    for name in names:
        (warcs / name).write_text(name)
    waiting_job.close_abandoned("first")
    found = {path.name: path.read_text() for path in warcs.iterdir()}
    assert found == {name: name for name in names[1:]} | {"a.warc.gz": "a.warc.gz.open"}


ODD = 'http://b.example/a b"\n- url: x'
QUEUE = [
    QueuedUrl("http://a.example/low", "a.example", 0.2),
    QueuedUrl("http://a.example/high", "a.example", 0.9, via="http://a.example/"),
    QueuedUrl("http://a.example/done", "a.example", 1.0, state=UrlState.DONE),
    QueuedUrl("http://a.example/never", "a.example", None, state=UrlState.BLACKLISTED),
    QueuedUrl(ODD, "b.example", 0.9),
]


def test_the_best_of_those_that_wait_come_first_and_older_before_newer() -> None:
    urls = [each.url for each in best_waiting(QUEUE, 10)]
    assert urls == ["http://a.example/high", ODD, "http://a.example/low"]
    assert [each.url for each in best_waiting(QUEUE, 1)] == urls[:1]
    assert [each.url for each in best_waiting(QUEUE, 10, 0.5)] == urls[:2]
    assert [each.url for each in blacklisted(QUEUE)] == ["http://a.example/never"]


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (
            SeedForm.URLS,
            ["http://a.example/high", 'http://b.example/a%20b"%0A-%20url:%20x'],
        ),
        (
            SeedForm.BROWSERTRIX,
            [
                'collection: "floods"',
                "scopeType: page",
                "seeds:",
                '  - url: "http://a.example/high"',
                f"  - url: {json.dumps(ODD.replace(' ', '%20').replace(chr(10), '%0A'))}",
            ],
        ),
        (
            SeedForm.BROZZLER,
            [
                'id: "floods"',
                "scope:",
                "  max_hops: 0",
                "seeds:",
                '  - url: "http://a.example/high"',
                f"  - url: {json.dumps(ODD.replace(' ', '%20').replace(chr(10), '%0A'))}",
            ],
        ),
        (
            SeedForm.HERITRIX_SCHEDULE,
            [
                "F+ http://a.example/high L http://a.example/",
                'F+ http://b.example/a%20b"%0A-%20url:%20x L'
                ' http://b.example/a%20b"%0A-%20url:%20x',
            ],
        ),
        (
            SeedForm.HERITRIX_INCLUDE,
            ["F+ http://a.example/high", 'F+ http://b.example/a%20b"%0A-%20url:%20x'],
        ),
    ],
)
def test_each_crawler_gets_its_form(form: SeedForm, lines: list[str]) -> None:
    assert list(seed_file([QUEUE[1], QUEUE[4]], form, "floods")) == lines


def test_what_is_no_url_is_left_out() -> None:
    assert list(seed_file([QueuedUrl(" ", "", 1.0)], SeedForm.URLS, "")) == []


def test_an_empty_list_is_a_list() -> None:
    *_, last = seed_file([], SeedForm.BROWSERTRIX, "floods")
    assert last == "seeds: []"
