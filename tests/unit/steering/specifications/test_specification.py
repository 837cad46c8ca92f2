"""Versions of specifications: what changes them, and what does not."""

from dataclasses import replace

import pytest

from nwx.steering.specifications.specification import (
    CrawlSpecification,
    DueInterval,
    Entity,
    EntityKind,
    Keyword,
    Limits,
    LinkRule,
    RuleAction,
    ScoreWeights,
    Thresholds,
)

BASE = CrawlSpecification(
    "votes",
    keywords=(Keyword("election"), Keyword("Wahl", 2.0, "de")),
    entities=(Entity("Bern", ("Berne",), EntityKind.PLACE), Entity("Ada Lovelace")),
)


def test_a_version_is_the_same_in_every_process() -> None:
    assert CrawlSpecification("votes").version() == CrawlSpecification("floods").version()
    assert len(BASE.version()) == 16
    assert int(BASE.version(), 16)


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, keywords=BASE.keywords[:1]),
        replace(BASE, keywords=(Keyword("election", 2.0), BASE.keywords[1])),
        replace(BASE, entities=(BASE.entities[0], Entity("Ada Lovelace", ("Ada King",)))),
        replace(BASE, rules=(LinkRule(RuleAction.PREFER, hosts=("example.org",)),)),
        replace(BASE, weights=ScoreWeights(document=0.5)),
        replace(BASE, thresholds=Thresholds(follow=0.9)),
    ],
)
def test_what_analysis_depends_on_changes_the_version(changed: CrawlSpecification) -> None:
    assert changed.version() != BASE.version()


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, keywords=BASE.keywords[::-1], entities=BASE.entities[::-1]),
        replace(BASE, seeds=("http://example.org/",), limits=Limits(pages=5)),
        replace(BASE, intervals=(DueInterval(7),), queue="http://localhost:1/", collection="a"),
    ],
)
def test_what_analysis_does_not_depend_on_keeps_the_version(changed: CrawlSpecification) -> None:
    assert changed.version() == BASE.version()
