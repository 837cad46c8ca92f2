from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.steering.adapters.feed_state import (
    FeedState,
    LogPlace,
    ScheduledUrl,
    read_crawl_log,
    url_identity,
)
from nwx.values.crawl_log import LoggedFetch

PAGE = (
    "2026-11-22T05:15:43.829Z   200       1708 http://a.example/ LL http://x.example/ text/html"
    " #022 20261122051543780+2 sha1:NNCVZO4JP5RGHVEUDCZ7OB2ZM2YPGWWN - 2t\n"
)
SEED = (
    "2026-11-22T05:15:44.000Z  -404          - http://b.example/?q=%20 - - unknown #001 - - - -\n"
)
NAME = (
    "2026-11-22T05:15:44.000Z     1         50 dns:a.example P http://a.example/ text/dns - - -\n"
)


def write(folder: Path, text: str, name: str = "crawl.log") -> None:
    with (folder / name).open("a", encoding="utf-8") as log:
        log.write(text)


def test_pages_are_read_with_their_hops_and_status(tmp_path: Path) -> None:
    write(tmp_path, PAGE + NAME + "nonsense\n\n" + SEED)
    found, _ = read_crawl_log(tmp_path, LogPlace())
    assert [(fetch.url, fetch.hops, fetch.status) for fetch in found] == [
        ("http://a.example/", "LL", 200),
        ("http://b.example/?q=%20", "", -404),
    ]


def test_only_what_was_added_is_read_and_a_line_only_when_it_is_whole(tmp_path: Path) -> None:
    write(tmp_path, PAGE + SEED[:30])
    found, place = read_crawl_log(tmp_path, LogPlace())
    assert len(found) == 1
    assert read_crawl_log(tmp_path, place) == ([], place)
    write(tmp_path, SEED[30:])
    found, place = read_crawl_log(tmp_path, place)
    assert [fetch.url for fetch in found] == ["http://b.example/?q=%20"]


def test_the_rest_of_a_log_that_was_renamed_comes_before_the_new_one(tmp_path: Path) -> None:
    write(tmp_path, PAGE)
    _, place = read_crawl_log(tmp_path, LogPlace())
    write(tmp_path, SEED)
    (tmp_path / "crawl.log").rename(tmp_path / "crawl.log.00001.cp-1")
    write(tmp_path, PAGE)
    first, place = read_crawl_log(tmp_path, place)
    second, place = read_crawl_log(tmp_path, place)
    assert [fetch.status for fetch in first + second] == [-404, 200]
    assert read_crawl_log(tmp_path, place)[0] == []


def test_logs_of_several_checkpoints_are_read_in_their_order(tmp_path: Path) -> None:
    for name, status in (("crawl.log.cp00001-1", 1), ("crawl.log.cp00002-2", 2), ("crawl.log", 3)):
        write(tmp_path, PAGE.replace(" 200 ", f" {status} "), name)
    statuses, place = [], LogPlace()
    for _ in range(4):
        found, place = read_crawl_log(tmp_path, place)
        statuses += [fetch.status for fetch in found]
    assert statuses == [1, 2, 3]


def test_there_is_nothing_before_there_is_a_log(tmp_path: Path) -> None:
    assert read_crawl_log(tmp_path / "logs", LogPlace()) == ([], LogPlace())


def scheduled(url: str) -> ScheduledUrl:
    return ScheduledUrl(url_identity(url), url, "", f"lease of {url}", 1, False, 1, 100.0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://a.example/ä", "http://a.example/%C3%A4", True),
        ("http://a.example/?a=<b>", "http://a.example/?a=%3Cb%3E", True),
        ("http://www.a.example/Page", "http://a.example/page", True),
        ("http://a.example/?sid=" + "1" * 32, "http://a.example/?sid=" + "2" * 32, True),
        ("http://a.example/", "https://a.example/", False),
        ("http://a.example/1", "http://a.example/2", False),
        ("http://[", "http://]", False),
    ],
)
def test_urls_are_told_apart_as_heritrix_does(one: str, other: str, same: bool) -> None:
    assert (url_identity(one) == url_identity(other)) is same


def test_what_was_given_and_fetched_is_remembered(tmp_path: Path) -> None:
    state = FeedState(tmp_path)
    with state.changing():
        state.schedule(scheduled("http://a.example/1"))
        state.schedule(scheduled("http://a.example/2"))
        state.set_launch("first")
        state.set_log_place(LogPlace(7, 11))
        assert state.next_number() == 1
    assert [state.open_count(now) for now in (99.0, 101.0)] == [2, 0]
    state.close()
    state = FeedState(tmp_path)
    assert (state.launch, state.log_place, state.next_number()) == ("first", LogPlace(7, 11), 2)
    fetches = [LoggedFetch(f"http://a.example/{n}", "LE", 200) for n in (2, 3)]
    done = state.fetch(fetches)
    assert [url.url for url in done] == ["http://a.example/2"]
    state.finish(url.key for url in done)
    state.drop(url.key for url in done)
    assert [url.url for url in state.scheduled()] == ["http://a.example/1"]
    second, third = (state.fetched(url_identity(fetch.url)) for fetch in fetches)
    assert second is not None
    assert third is not None
    assert (second.finished, third.finished, third.hops) == (True, False, "LE")
    state.close()


def test_what_fails_changes_nothing(tmp_path: Path) -> None:
    state = FeedState(tmp_path)
    with pytest.raises(ZeroDivisionError), state.changing():
        state.schedule(scheduled("http://a.example/1"))
        raise ZeroDivisionError
    assert not state.scheduled()
    state.close()


def test_a_state_that_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "nwx-feed.db").write_text("no database, " * 100)
    with pytest.raises(SourceError, match=r"nwx-feed\.db cannot be used"):
        FeedState(tmp_path)


def test_one_feed_has_a_job_at_a_time(tmp_path: Path) -> None:
    state = FeedState(tmp_path)
    with pytest.raises(SourceError, match="fed by another process"):
        FeedState(tmp_path)
    state.close()
    FeedState(tmp_path).close()
