"""Due pages on both engines: order, limits, collections, and bounded memory."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from nwx.engine.base import Engine
from nwx.model import Batch, Capture
from nwx.steering.queue import due_urls as due_module
from nwx.steering.queue.due_urls import (
    DueIntervals,
    DueQuestion,
    DueReport,
    DueUrl,
    IntervalBasis,
    due_urls,
)
from nwx.steering.specifications.specification import DueInterval, LinkRule, LinkRules, RuleAction
from tests.conformance.archive import capture

ABOVE_ENGINES = True

NOW = datetime(2026, 2, 1, tzinfo=UTC).timestamp()
WEEK = DueIntervals(7.0)


def seen(url: str, day: str, digest: str = "A", collection: str = "web") -> Capture:
    offset = len(url) * 10_000 + int(day)
    made = capture(url, f"2026{day}000000", collection=collection, offset=offset)
    return replace(made, digest=digest)


CAPTURES = [
    *[seen("http://a.example/daily", f"01{day:02}", str(day)) for day in range(1, 21)],
    *[seen("http://a.example/steady", f"01{day:02}") for day in range(1, 31)],
    seen("http://b.example/once", "0120", collection="other"),
    seen("http://b.example/old", "0101"),
    seen("http://b.example/new", "0131"),
]
BATCHES = [Batch(captures=CAPTURES)]


def found(engine: Engine, question: DueQuestion) -> list[DueUrl]:
    return list(due_urls(engine, question))


def urls(engine: Engine, question: DueQuestion) -> list[str]:
    return [one.url.removeprefix("http://") for one in found(engine, question)]


def test_those_that_wait_longest_come_first(archive: Engine) -> None:
    question = DueQuestion(NOW, WEEK)
    assert urls(archive, question) == ["b.example/old", "a.example/daily", "b.example/once"]
    assert urls(archive, replace(question, limit=2)) == ["b.example/old", "a.example/daily"]
    assert urls(archive, replace(question, collection="other")) == ["b.example/once"]
    assert urls(archive, replace(question, at=NOW - 40 * 86_400)) == []


def test_what_is_said_of_a_url(archive: Engine) -> None:
    report = DueReport()
    first = next(iter(due_urls(archive, DueQuestion(NOW, WEEK), report)))
    assert first == DueUrl(
        "http://b.example/old",
        "example,b)/old",
        "20260101000000",
        "20260108000000",
        7.0,
        round(31 / 7, 3),
        1,
        0,
        IntervalBasis.GIVEN,
    )
    assert (report.captures, report.urls, report.due, report.unreadable) == (53, 5, 3, 0)
    update = first.update("votes")
    assert (update.url, update.crawl, update.again) == (first.url, "votes", True)
    assert 0.5 < (update.priority or 0) < 1


def test_intervals_by_their_own_history(archive: Engine) -> None:
    by_url = {one.url: one for one in found(archive, DueQuestion(NOW))}
    daily = by_url["http://a.example/daily"]
    assert (daily.basis, daily.interval_days, daily.changes) == (IntervalBasis.ESTIMATED, 1.0, 19)
    assert by_url["http://b.example/old"].basis is IntervalBasis.USUAL
    assert "http://a.example/steady" not in by_url


def test_intervals_and_rules_of_a_specification(archive: Engine) -> None:
    intervals = DueIntervals(None, [DueInterval(20.0), DueInterval(0.5, hosts=("a.example",))])
    rules = LinkRules([LinkRule(RuleAction.BLACKLIST, expressions=("/daily$",))])
    question = DueQuestion(NOW, intervals, rules=rules)
    assert urls(archive, question) == ["a.example/steady", "b.example/old"]
    only = LinkRules([LinkRule(RuleAction.ONLY, hosts=("b.example",))])
    assert urls(archive, replace(question, rules=only)) == ["b.example/old"]


def test_what_does_not_fit_in_memory_is_sorted_on_disk(
    archive: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = found(archive, DueQuestion(NOW, DueIntervals(0.1)))
    monkeypatch.setattr(due_module, "_HELD_BYTES", 1_000)
    monkeypatch.setattr(due_module, "_AT_ONCE", 1)
    assert found(archive, DueQuestion(NOW, DueIntervals(0.1))) == expected
    assert len(expected) == 5
