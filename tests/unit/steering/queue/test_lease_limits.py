"""The limits of leases: those of the specification before the usual ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.queue.crawl_queue import LeaseLimits
from nwx.steering.queue.lease_limits import SpecificationLimits

USUAL = LeaseLimits(delay_seconds=2.0, in_flight=3, pages_per_host=50)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        yield engine


def test_a_crawl_without_a_specification_has_the_usual_ones(engine: Engine) -> None:
    limits = SpecificationLimits(engine.crawl_index(), USUAL)
    assert limits("") == limits("unknown") == USUAL


def test_what_a_specification_says_counts(engine: Engine) -> None:
    crawls = engine.crawl_index()
    crawls.save_specification("one", "v", 'name = "one"\n[limits]\npages = 9\npages_per_host = 2\n')
    crawls.save_specification("two", "v", 'name = "two"\n')
    limits = SpecificationLimits(crawls, USUAL)
    assert limits("one") == LeaseLimits(2.0, 3, pages_per_host=2, pages=9)
    assert limits("two") == USUAL


def test_limits_are_read_again_after_a_while(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.steering.queue.lease_limits._KNOWN_SECONDS", 0)
    crawls = engine.crawl_index()
    limits = SpecificationLimits(crawls, USUAL)
    assert limits("one") == USUAL
    crawls.save_specification("one", "v", 'name = "one"\n[limits]\npages = 7\n')
    assert limits("one").pages == 7
