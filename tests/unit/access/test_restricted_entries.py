"""Playback scores under access rules: as if nothing hidden had been checked."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.access.restricted_engine import RestrictedEngine
from nwx.engine.access.rules import Scope
from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import (
    Fault,
    PlaybackScore,
    QualityFilter,
    QualityOrder,
    QualityTotals,
)
from nwx.errors import WithheldError
from nwx.model import IndexName
from tests.unit.access.archives import (
    HIDDEN,
    PAGES,
    SHOWN,
    archive_of_pages,
    hiding,
    id_of_capture,
)

_KEPT = Fault("missing", "http://other.test/a.css")


def score(url: str, value: float, *faults: Fault, resources: tuple[str, ...] = ()) -> PlaybackScore:
    held = PAGES[url].capture
    return PlaybackScore(
        id_of_capture(held),
        held.collection,
        url,
        held.urlkey,
        held.host,
        held.domain,
        held.timestamp,
        checked="20260102030405",
        rules="1",
        score=value,
        faults=faults,
        faults_total=len(faults) + 2,
        resources=resources,
    )


SCORES = [
    score(f"{SHOWN}1", 0.5, _KEPT, Fault("failed", f"{HIDDEN}x.js"), resources=("test,hidden)/1",)),
    score(f"{SHOWN}2", 0.25, _KEPT, resources=("test,other)/",)),
    score(f"{HIDDEN}1", 0.0, _KEPT),
    score(f"{HIDDEN}2", 1.0),
]
VISIBLE = [replace(SCORES[0], faults=(_KEPT,), faults_total=3, resources=()), SCORES[1]]


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Engine]:
    """An archive with all scores."""
    with archive_of_pages(tmp_path / "all") as engine:
        engine.quality_index().put(SCORES)
        yield engine


def test_scores_and_totals_are_of_visible_pages(whole: Engine, tmp_path: Path) -> None:
    shown = RestrictedEngine(whole, hiding())
    found = shown.quality_index()
    with archive_of_pages(tmp_path / "less") as engine:
        engine.quality_index().put(VISIBLE)
        expected = engine.quality_index()
        for wanted in (
            QualityFilter(),
            QualityFilter(host="hidden.test"),
            QualityFilter(kind="missing"),
            QualityFilter(kind="failed"),
        ):
            assert found.totals(wanted) == expected.totals(wanted)
            assert list(found.scan(wanted)) == list(expected.scan(wanted))
            for limit, offset, order in ((1, 0, QualityOrder.WORST), (5, 1, QualityOrder.NEWEST)):
                assert found.scores(wanted, limit, offset, order) == expected.scores(
                    wanted, limit, offset, order
                )
        assert list(shown.scan(IndexName.QUALITY)) == list(engine.scan(IndexName.QUALITY))
    assert shown.count(IndexName.QUALITY) == 2
    assert found.score(SCORES[2].id) is None
    assert found.score(SCORES[1].id) == SCORES[1]


def test_totals_follow_new_scores(whole: Engine) -> None:
    found = RestrictedEngine(whole, hiding()).quality_index()
    assert found.totals().pages == 2
    whole.quality_index().remove([SCORES[0].id])
    assert found.totals().pages == 1
    whole.quality_index().remove([SCORES[1].id])
    assert found.totals() == QualityTotals()


def test_entries_are_counted_again_only_after_a_change(
    whole: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, counts = RestrictedEngine(whole, hiding()), list[IndexName]()
    count = RestrictedEngine.count

    def noted(self: RestrictedEngine, index: IndexName) -> int:
        counts.append(index)
        return count(self, index)

    monkeypatch.setattr(RestrictedEngine, "count", noted)
    for _ in range(2):
        assert shown.stats()[IndexName.QUALITY].entries == 2
        assert counts == list(whole.stats())
    whole.quality_index().remove([SCORES[0].id])
    assert shown.stats()[IndexName.QUALITY].entries == 1


def test_a_rule_about_a_payload_hides_the_score_of_its_capture(whole: Engine) -> None:
    digest = PAGES[f"{SHOWN}2"].capture.digest
    found = RestrictedEngine(whole, hiding(scope=Scope(digest=digest))).quality_index()
    assert {one.url for one in found.scan()} == {f"{SHOWN}1", f"{HIDDEN}1", f"{HIDDEN}2"}


def test_monitors_are_withheld(whole: Engine) -> None:
    whole.quality_index().put_state("monitor:crawl", b"sums")
    whole.quality_index().put_state("other", b"kept")
    found = RestrictedEngine(whole, hiding()).quality_index()
    assert found.states() == ["other"]
    assert found.state("other") == b"kept"
    with pytest.raises(WithheldError, match="--unrestricted"):
        found.state("monitor:crawl")
    with pytest.raises(WithheldError):
        found.put([])
