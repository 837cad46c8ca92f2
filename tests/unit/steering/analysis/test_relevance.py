"""The relevance of links, and its parts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.steering.analysis.link_roles import LinkRole
from nwx.steering.analysis.page_view import PageLink, PageView
from nwx.steering.analysis.relevance import (
    LinkEvidence,
    RelevanceFormula,
    near_score,
    side_text,
    text_without,
    words_of_url,
)
from nwx.steering.specifications.specification import ScoreWeights

SHARES = st.floats(0, 1)


def test_a_link_with_all_in_its_favour_has_relevance_one() -> None:
    formula = RelevanceFormula(ScoreWeights(), 0.1, 0.9)
    number, parts = formula.relevance(LinkEvidence(1.0, LinkRole.CONTENT, preferred=True))
    assert number == pytest.approx(1)
    assert set(parts) == {"document", "near", "role", "preferred", "novelty"}


def test_a_link_with_nothing_in_its_favour_has_relevance_zero() -> None:
    formula = RelevanceFormula(ScoreWeights(), 0.1, 0.0)
    assert formula.relevance(LinkEvidence(0.0, LinkRole.LOGIN, new=False))[0] == 0


@given(
    st.builds(LinkEvidence, SHARES, st.sampled_from(LinkRole), st.booleans(), st.booleans()),
    st.builds(ScoreWeights, *[st.floats(0, 10)] * 5),
    SHARES,
    SHARES,
)
def test_the_parts_add_up(
    evidence: LinkEvidence, weights: ScoreWeights, relevant: float, score: float
) -> None:
    number, parts = RelevanceFormula(weights, relevant, score).relevance(evidence)
    assert 0 <= number <= 1
    assert sum(parts.values()) == pytest.approx(number, abs=1e-5)


def test_more_terms_near_a_link_make_a_higher_score() -> None:
    scores = [near_score([1.0] * count) for count in range(4)]
    assert scores == sorted(scores)
    assert scores[0] == 0
    assert scores[-1] < 1
    assert near_score([-5.0]) == 0


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://a.example/floods-of_2002/index.html?x=elbe", "floods of 2002 index html x elbe"),
        ("http://b.example/x", "b example x"),
        ("http://a.example/%C3%89lys%C3%A9e", "Élysée"),
        ("http://a.example/", ""),
    ],
)
def test_words_of_a_url(url: str, words: str) -> None:
    assert words_of_url(url, "a.example").strip() == words


def test_a_text_without_some_anchors_keeps_the_places_of_the_rest() -> None:
    text = "menu one two the text"
    one = PageLink("http://a.example/1", "one", "a", place=5)
    two = PageLink("http://a.example/2", "two", "a", place=9)
    nowhere = PageLink("http://a.example/3", "text", "a")
    nested = PageLink("http://a.example/4", "ne", "a", place=6)
    assert text_without(text, [one, nested, two, nowhere]) == "menu         the text"
    assert text_without(text, []) == text
    beyond = PageLink("http://a.example/5", "text and more", "a", place=17)
    assert text_without(text, [beyond]) == "menu one two the     "


def test_headings_are_read_once() -> None:
    links = [
        PageLink("http://b.example/x-y", "an anchor", "a", heading="Rivers"),
        PageLink("http://a.example/z", "other", "a", heading="Rivers", place=0),
        PageLink("http://a.example/w", "other", "a", heading="Lakes", place=6),
    ]
    page = PageView("http://a.example/", "20200101000000", links=tuple(links))
    side = side_text(page, [True, False, False])
    lines = [side.text[first:last] for first, last in pairwise(side.places)]
    assert lines == ["b example x y . an anchor\n", " z\n", " w\n", "Rivers\n", "Lakes\n"]
    assert side.headings == {"Rivers": 3, "Lakes": 4}
