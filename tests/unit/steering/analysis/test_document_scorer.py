"""Scores of documents."""

import pytest

from nwx.steering.analysis.document_scorer import (
    MOST_MATCHES,
    DocumentScorer,
    TermMatcher,
    TermStatistics,
)
from nwx.steering.analysis.language_models import DictionaryModel
from nwx.steering.specifications.specification import CrawlSpecification, Entity, Keyword


def found(text: str, *terms: Keyword | Entity, language: str = "en") -> list[str]:
    keywords = tuple(term for term in terms if isinstance(term, Keyword))
    entities = tuple(term for term in terms if isinstance(term, Entity))
    matcher = TermMatcher(CrawlSpecification("c", keywords=keywords, entities=entities))
    matches = matcher.matches(text, DictionaryModel().read(text, language), language)
    return [text[match.start : match.end] for match in matches]


@pytest.mark.parametrize(
    ("keyword", "language", "text", "words"),
    [
        ("election", "en", "ELECTIONS and an election, electional", ["ELECTIONS", "election"]),
        ("elections", "en", "one election", ["election"]),
        ("election campaign", "en", "Election campaigns", ["Election campaigns"]),
        ("Élection", "fr", "l'election et les élections", ["election", "élections"]),
        ("Haus", "de", "in den Häusern", ["Häusern"]),
        ("Wahl", "fr", "die Wahl", ["Wahl"]),
        ("well-being", "en", "their well being", ["well being"]),
        ("house of cards", "en", "Houses of cards", ["Houses of cards"]),
        ("洪水", "zh", "二〇〇二年洪水灾害", ["洪水"]),
        ("洪水", "en", "the 洪水 of 2002", ["洪水"]),
    ],
)
def test_keywords_are_found_by_their_lemmas(
    keyword: str, language: str, text: str, words: list[str]
) -> None:
    assert found(text, Keyword(keyword), language=language) == words


def test_a_keyword_of_one_language_is_found_on_pages_of_another() -> None:
    assert found("his Wahlen", Keyword("Wahl", language="de"), language="en") == []
    assert found("his Wahl", Keyword("Wahlen", language="de"), language="en") == ["Wahl"]
    assert found("his Wahlen", Keyword("Wahlen", language="de"), language="en") == ["Wahlen"]


def test_the_longest_keyword_counts() -> None:
    terms = [Keyword("flood"), Keyword("flood plain"), Keyword("plain")]
    assert found("flood plains and a flood of plain words", *terms) == [
        "flood plains",
        "flood",
        "plain",
    ]


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("Angela Merkel", "ANGELA\nMÉRKEL, Angela Merkels", ["ANGELA\nMÉRKEL"]),
        ("AT&T", "at AT&T and BAT&TA", ["AT&T"]),
        ("C++", "C++, not C", ["C++"]),
        ("東京", "在東京的 tower", ["東京"]),
        ("Straße", "Große STRASSE und Straße", ["STRASSE", "Straße"]),
        ("tower", "東京tower", ["tower"]),
    ],
)
def test_entities_are_found_at_word_boundaries(name: str, text: str, names: list[str]) -> None:
    assert found(text, Entity(name)) == names


def test_aliases_stand_for_their_entity_and_the_longest_counts() -> None:
    york, new_york = Entity("York"), Entity("New York", aliases=("Big Apple",))
    assert found("New York, York, the big apple", york, new_york) == [
        "New York",
        "York",
        "big apple",
    ]


def test_matches_are_bounded() -> None:
    assert len(found("Elbe " * 100_000, Entity("Elbe"), Keyword("Elbe"))) == MOST_MATCHES


def test_a_hundred_thousand_keywords_are_found() -> None:
    keywords = [Keyword(f"word{number} other") for number in range(100_000)]
    assert found("a word99999 other b", *keywords) == ["word99999 other"]


def test_rarities_are_in_relation_to_their_mean() -> None:
    statistics = TermStatistics(100, {"rare": 1, "common": 90})
    rare, common, unknown = statistics.rarities(["rare", "common", "unknown"])
    assert rare > 1 > common > 0
    assert unknown == 1
    assert (rare + common) / 2 == pytest.approx(1)


def test_without_an_archive_all_terms_are_alike() -> None:
    assert TermStatistics().rarities(["a", "b"]) == [1, 1]
    assert TermStatistics(0, {"a": 5}).rarities(["a", "b"]) == [1, 1]


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
