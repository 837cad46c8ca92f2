from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.steering.adapters.crawl_log import LogPlace
from nwx.steering.adapters.feed_state import FeedState, ScheduledUrl, url_identity
from nwx.values.crawl_log import LoggedFetch


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
