"""Pages analysed by a specification."""

import pytest

from nwx.engine.indices.crawl_index import DocumentScore
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import TermStatistics
from nwx.steering.analysis.page_view import PageLink, PageView, page_view
from nwx.steering.specifications.specification import CrawlSpecification, Entity, Keyword

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
