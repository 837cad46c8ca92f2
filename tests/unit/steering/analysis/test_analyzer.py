"""Pages analysed by a specification."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.engine.indices.crawl_index import DocumentScore
from nwx.steering.analysis.analyzer import (
    Analyzer,
    LinkEvidence,
    RelevanceFormula,
    near_score,
    side_text,
    text_without,
    words_of_url,
)
from nwx.steering.analysis.document_scorer import TermStatistics
from nwx.steering.analysis.link_classifier import LinkRole
from nwx.steering.analysis.page_view import PageLink, PageView, page_view
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    Entity,
    Keyword,
    ScoreWeights,
)

SPECIFICATION = CrawlSpecification(
    name="floods",
    keywords=(Keyword("flood"), Keyword("Hochwasser"), Keyword("洪水")),
    entities=(Entity("Elbe"), Entity("Jane Doe", aliases=("J. Doe",))),
)
URL = "http://site.example/"


def analysed(body: str, specification: CrawlSpecification = SPECIFICATION) -> DocumentScore:
    page = page_view(f"<html lang=en><body>{body}".encode(), URL, "20200101000000", "utf-8")
    return Analyzer(specification, TermStatistics()).analyse(page, "id")


def test_a_page_of_the_subject_scores_higher_than_another() -> None:
    subject = analysed("<p>The floods of the Elbe were higher than any flood before.")
    other = analysed("<p>The goals of the match were finer than any goal before.")
    assert other.score == 0
    assert 0.3 < subject.score <= 1
    assert subject.entities == (("Elbe", 1),)


def test_a_link_near_the_subject_is_more_relevant() -> None:
    links = analysed(
        "<p><a href=/1>The flood of 2002</a></p>"
        + "<p>Some other words.</p>" * 20
        + "<p><a href=/2>The match</a></p>"
    ).links
    assert [link.url for link in links] == [f"{URL}1", f"{URL}2"]
    assert links[0].relevance is not None
    assert links[1].relevance is not None
    assert links[0].relevance > links[1].relevance
    for link in links:
        assert sum(link.parts.values()) == pytest.approx(link.relevance)


def test_a_text_stuffed_with_the_terms_is_no_page_of_the_subject() -> None:
    links = "<p><a href=/1>flood of the Elbe</a> bets</p>"
    assert analysed(links * 5).score > 0
    [link] = analysed(links * 20).links
    assert analysed(links * 20).score == link.parts["near"] == 0
    assert "stuffed" in link.reason


def test_what_menus_say_is_no_subject_of_the_page_but_of_their_links() -> None:
    menu = "<nav><a href=/flood>Floods</a> <a href=/sport>Sport</a></nav>"
    page = analysed(f"{menu}<p>The goals of the match were finer than any goal before.")
    assert page.score == 0
    flood, sport = page.links
    assert flood.parts["near"] > sport.parts["near"]


def test_a_url_with_a_session_id_is_scored_without_it() -> None:
    links = analysed("<a href='/t?t=1&sid=0123456789abcdef'>The flood</a>").links
    assert [(link.url, link.reason) for link in links] == [
        (f"{URL}t?t=1&sid=0123456789abcdef", "trap: session id"),
        (f"{URL}t?t=1", "without its session id"),
    ]
    assert links[0].relevance is None
    assert links[1].relevance


def test_a_known_url_is_less_relevant() -> None:
    page = page_view(b"<a href=/1>flood</a><a href=/2>flood</a>", URL, "20200101000000")
    score = Analyzer(SPECIFICATION, TermStatistics()).analyse(page, "id", known={f"{URL}1"})
    known, new = (link.parts["novelty"] for link in score.links)
    assert known == 0 < new


def test_a_url_is_listed_once_with_its_highest_relevance() -> None:
    links = analysed(
        "<nav><a href=/1>x</a></nav>"
        + "<p>Some other words.</p>" * 20
        + "<p>A flood: <a href=/1>the flood</a></p>"
    ).links
    assert [(link.url, link.role) for link in links] == [(f"{URL}1", "content")]


def test_a_document_without_its_record_is_analysed_too() -> None:
    page = PageView(
        URL,
        "20200101000000",
        content="The flood of the Elbe",
        language="en",
        links=(PageLink(f"{URL}1", "the flood", "a"), PageLink(f"{URL}2", "others", "a")),
    )
    score = Analyzer(SPECIFICATION, TermStatistics()).analyse(page, "id")
    assert score.score > 0
    assert score.links[0].parts["near"] > score.links[1].parts["near"] == 0


def test_titles_of_links_without_text_hide_nothing_of_the_text() -> None:
    menu = "<nav><a href=/1 title='to the first page of all pages'><img src=i></a></nav>"
    assert analysed(f"{menu}The flood").score == analysed("The flood").score > 0


def test_what_is_behind_a_picture_is_not_its_anchor() -> None:
    picture = "<p><a href=/1 title='a picture of something else'><img src=i></a> The flood</p>"
    titled = "<p><a href=/1 title='the flood'><img src=i></a> Some words</p>"
    behind, title = (analysed(body).links[0].parts["near"] for body in (picture, titled))
    assert 0 < behind < title


def test_a_url_that_is_known_with_a_session_id_is_not_new_without_it() -> None:
    session = f"{URL}1?PHPSESSID=0123456789abcdef"
    page = page_view(f"<a href='{session}'>flood</a>".encode(), URL, "20200101000000")
    score = Analyzer(SPECIFICATION, TermStatistics()).analyse(page, "id", known={session})
    assert [(one.url, one.parts.get("novelty")) for one in score.links] == [
        (session, None),
        (f"{URL}1", 0.0),
    ]


SHARES = st.floats(0, 1)


def test_a_link_with_all_in_its_favour_has_relevance_one() -> None:
    formula = RelevanceFormula(ScoreWeights(), 0.1, 0.9)
    number, parts = formula.relevance(LinkEvidence(1.0, LinkRole.CONTENT, preferred=True))
    assert number == pytest.approx(1)
    assert set(parts) == {"document", "near", "role", "preferred", "novelty"}


def test_a_login_beside_the_best_text_is_worth_less_than_a_page_without_any() -> None:
    formula = RelevanceFormula(ScoreWeights(), 0.1, 0.9)
    page = formula.relevance(LinkEvidence(0.0, LinkRole.CONTENT))[0]
    for role in (LinkRole.LOGIN, LinkRole.ADVERTISEMENT, LinkRole.ACTION):
        assert formula.relevance(LinkEvidence(1.0, role))[0] < page / 2


def test_the_address_of_another_page_has_no_words() -> None:
    url = "http://a.example/login?lang=en&returnto=/the/Flood_of_2002&redirect_to=http%3A//x/flood"
    assert words_of_url(url, "a.example").split() == ["login", "lang", "en"]


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
