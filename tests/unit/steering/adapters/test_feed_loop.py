"""A feed goes on through what passes, and stops at what does not."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from nwx.errors import CrawlerError, EngineBusyError, NwxError
from nwx.steering.adapters import feed_loop
from nwx.steering.adapters.feed_loop import run_feed
from nwx.steering.adapters.heritrix_feed import FeedCounts, HeritrixFeed


@dataclass
class Turns:
    """A feed whose turns end as they are listed."""

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
    monkeypatch.setattr(feed_loop, "_rest", lambda seconds, stopping: None)
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
