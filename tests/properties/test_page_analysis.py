"""Analysis of hostile pages: scores stay within bounds for any content."""

from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import TermStatistics
from nwx.steering.analysis.language_models import DictionaryModel
from nwx.steering.analysis.names import TextReading
from nwx.steering.analysis.page_view import LIMITS, PageView, page_view
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    Entity,
    Keyword,
    LinkRule,
    RuleAction,
)

SPECIFICATION = CrawlSpecification(
    "floods",
    keywords=(Keyword("flood"), Keyword("high water"), Keyword("洪水"), Keyword("naß")),
    entities=(Entity("Elbe"), Entity("AT&T", aliases=("ß",)), Entity("Jane Doe")),
    rules=(LinkRule(RuleAction.BLACKLIST, hosts=("bad.example",)),),
)
ANALYZER = Analyzer(SPECIFICATION, TermStatistics(100, {"flood": 3, "Elbe": 70}))
URL = "http://site.example/a/b"
PIECES = st.sampled_from(
    [
        "flood",
        "Floods high\nwaters",
        "洪水",
        "ELBE",
        "AT&amp;T",
        "ß",
        "İ",
        "ŉ",
        "&#xe5a7;",
        "\ue5a7",
        "&#0;",
        "\u0301",
        "<a href='/1'>",
        "<a href=//bad.example/>",
        "<a href='?sid=0123456789abcdef0'>",
        "<a href='/x/x/x/%zz'>",
        "<a href='http://[::1'>",
        "<area href=/map alt='the flood'>",
        "</a>",
        "<h2>",
        "</h2>",
        "<nav class='menu pagination ads'>",
        "</nav>",
        "<table><td>",
        "<title>",
        "<script>",
        "<iframe src=/frame>",
        "<base href='http://other.example/'>",
        "<!--",
        "-->",
        " ",
        "\n",
    ]
)
PAGES = st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join)


def _checked(page: PageView) -> None:
    score = ANALYZER.analyse(page, "id")
    assert 0 <= score.score <= 1
    urls = [link.url for link in score.links]
    assert len(urls) == len(set(urls))
    for link in score.links:
        if link.relevance is None:
            assert link.reason
            continue
        assert 0 <= link.relevance <= 1
        if not link.reason.startswith("no rule"):
            assert abs(sum(link.parts.values()) - link.relevance) < 1e-5


@settings(deadline=None)  # it loads dictionaries
@given(PAGES)
def test_any_page_has_scores(html: str) -> None:
    _checked(page_view(html.encode("utf-8", "replace"), URL, "20200101000000", "utf-8"))


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_have_scores(html: bytes) -> None:
    _checked(page_view(html, URL, "20200101000000"))


@settings(deadline=None)
@given(PAGES)
def test_what_is_around_a_link_is_where_it_says(html: str) -> None:
    page = page_view(html.encode("utf-8", "replace"), URL, "20200101000000", "utf-8")
    for link in page.links:
        if link.start < 0:
            assert (link.around, link.place) == ("", -1)
            continue
        assert 0 <= link.start <= link.end <= len(page.content)
        assert link.place == -1 or link.start <= link.place <= link.end
        assert link.around == page.content[link.start : link.end]


@settings(deadline=None)
@given(st.text(max_size=200), st.sampled_from(["en", "zh", ""]))
def test_words_and_names_are_where_they_say(text: str, language: str) -> None:
    model = DictionaryModel()
    reading: TextReading = model.read(text, language)
    assert "".join(reading.pieces) == text
    spans = [reading.span(index) for index in range(len(reading.lemmas))]
    assert [text[first:last] for first, last in spans] == list(reading.pieces[1::2])
    assert all(0 <= name.start <= len(text) for name in model.names(text, reading, language))


def test_pages_of_millions_are_bounded() -> None:
    anchor = "flood Elbe " * 200_000
    links = "".join(f"<h2>flood {n}</h2><a href=/{n}>Elbe flood {n}</a> " for n in range(20_000))
    for html in (
        "Elbe " * 1_000_000,
        f"<a href=/1>{anchor}</a>",
        links,
        "ß" * 1_000_000,
        "Mr. " * 500_000,
        "x" * 2_000_000,
        f"<a class='{'menu ' * 200_000}' href=/1>x</a>" * 5,
    ):
        page = page_view(html.encode(), URL, "20200101000000", "utf-8")
        assert len(page.content) <= LIMITS.characters
        assert len(page.links) <= LIMITS.links
        _checked(page)
