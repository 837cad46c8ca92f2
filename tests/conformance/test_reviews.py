"""Reviews of captures: one per reviewer, counted by collection, hidden, removed."""

import pytest

from nwx import Archive
from nwx.access.restricted_engine import RestrictedEngines
from nwx.engine.access.rules import AccessRule, Action, Scope, Viewer
from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import review_index
from nwx.errors import UsageError, WithheldError
from nwx.quality.repair_list import csv_of_repairs
from nwx.quality.scores import made_review
from tests.conformance.archive import COLLECTION, batch, page

_SITE = "http://www.town.test"
BATCHES = [batch([page(f"{_SITE}/good", "2010", "one"), page(f"{_SITE}/bad", "2012", "two")])]


def _save(engine: Engine, path: str, verdict: str, reviewer: str, note: str = "") -> None:
    review = made_review(engine, f"{_SITE}/{path}", "", verdict, note, "", reviewer)
    review_index(engine).put(review)


def test_each_reviewer_has_one_verdict_a_capture(engine: Engine) -> None:
    engine.write(BATCHES[0])
    engine.refresh()
    _save(engine, "bad", "good", "anna")
    _save(engine, "bad", "bad", "anna", "no styles")
    _save(engine, "bad", "usable", "bert")
    _save(engine, "good", "good", "anna")
    own = Archive.over(engine)
    found = [(one.url[-4:], one.reviewer, one.verdict, one.note) for one in own.reviews()]
    assert found == [
        ("/bad", "anna", "bad", "no styles"),
        ("/bad", "bert", "usable", ""),
        ("good", "anna", "good", ""),
    ]
    (count,) = own.review_counts()
    assert (count.good, count.usable, count.bad) == (1, 1, 1)
    assert [one.reviewer for one in own.reviews(reviewer="bert")] == ["bert"]
    assert [one.verdict for one in own.repair_reviews()] == ["bad", "usable"]
    capture = next(iter(own.reviews())).capture
    assert review_index(engine).remove([capture]) == 2
    assert len(own.reviews()) == 1


def test_hidden_captures_have_no_reviews(engine: Engine) -> None:
    engine.write(BATCHES[0])
    engine.refresh()
    _save(engine, "bad", "bad", "anna")
    _save(engine, "good", "good", "anna")
    rule = AccessRule("", Action.EXCLUDE, Scope(prefix="test,town)/bad"))
    engine.access_index().put([rule], "test")
    shown = RestrictedEngines(engine).for_viewer(Viewer())
    assert [one.url for one in Archive.over(shown).reviews()] == [f"{_SITE}/good"]
    review = made_review(engine, f"{_SITE}/good", "", "bad", "", "", "bert")
    with pytest.raises(WithheldError):
        review_index(shown).put(review)


def test_what_is_not_captured_is_not_reviewed(archive: Engine) -> None:
    with pytest.raises(UsageError, match="no capture"):
        made_review(archive, f"{_SITE}/none", "", "bad", "", "", "")


def test_reviews_are_in_the_list_of_repairs(engine: Engine) -> None:
    engine.write(BATCHES[0])
    engine.refresh()
    _save(engine, "bad", "bad", "anna", "no styles")
    own = Archive.over(engine)
    own.save_crawl(f'name = "towns"\ncollection = "{COLLECTION}"\nkeywords = ["lamp"]\n', "")
    (count,) = own.review_counts()
    assert (count.bad, count.crawls) == (1, ("towns",))
    found = own.repairs()
    lines = list(csv_of_repairs(found.counts(), found.repairs(), own.repair_reviews()))
    assert lines[-1].strip() == f"{_SITE}/bad,,,,,,,bad,no styles,anna"
