"""Scores of documents."""

from nwx.steering.analysis.document_scorer import DocumentScorer
from nwx.steering.analysis.language.dictionary_model import DictionaryModel
from nwx.steering.analysis.term_matches import TermMatcher
from nwx.steering.analysis.term_statistics import TermStatistics
from nwx.steering.specifications.specification import CrawlSpecification, Entity, Keyword

FLOODS = CrawlSpecification("c", keywords=(Keyword("flood"), Keyword("water")))


def score(
    text: str,
    specification: CrawlSpecification = FLOODS,
    statistics: TermStatistics | None = None,
) -> float:
    reading = DictionaryModel().read(text, "en")
    matches = TermMatcher(specification).matches(text, reading, "en")
    return DocumentScorer(specification, statistics or TermStatistics()).score(reading, matches)


def test_a_text_of_nothing_but_the_terms_has_score_one() -> None:
    assert 0.8 < score("flood water") <= 1


def test_a_text_without_terms_has_score_zero() -> None:
    assert score("other words") == 0
    assert score("") == 0
    assert score("flood", CrawlSpecification("c")) == 0


def test_the_share_of_the_terms_counts() -> None:
    other = " ".join(f"word{number}" for number in range(50))
    assert (
        score(f"flood water {other}") > score(f"flood {other}") > score(f"flood {other} {other}a")
    )


def test_articles_do_not_count() -> None:
    assert score("the flood and the water of the") == score("flood water")


def test_a_rare_term_counts_more_than_a_common_one() -> None:
    statistics = TermStatistics(1_000, {"flood": 5, "water": 900})
    other = " ".join(f"word{number}" for number in range(20))
    assert score(f"flood {other}", FLOODS, statistics) > score(f"water {other}", FLOODS, statistics)


def test_terms_of_weight_below_zero_speak_against_a_text() -> None:
    against = CrawlSpecification(
        "c", keywords=(Keyword("flood"),), entities=(Entity("Noah", weight=-1.0),)
    )
    assert score("a flood of Noah and others", against) < score(
        "a flood of Xyz and others", against
    )
