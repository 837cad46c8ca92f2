"""Parameters parsed as a query under the rules of a dialect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.cdxserver.query_model import (
    DIALECTS,
    IA,
    OUTBACK,
    PYWB,
    CdxQuery,
    Dialect,
    MatchType,
    OutputForm,
    Paging,
    Parameters,
    Resume,
    RowOrder,
    parameters_of,
)
from nwx.cdxserver.query_parser import (
    MOST_HELD,
    expanded,
    key_after,
    parse_cdx_query,
    span_of,
    urlkey_of,
)
from nwx.engine.capture_index import CdxSpan
from nwx.errors import CdxQueryError


def parsed(query: str, dialect: Dialect = IA) -> CdxQuery:
    return parse_cdx_query(parameters_of(query), dialect)


def understood(pairs: list[tuple[str, str]], dialect: Dialect, collection: str) -> object:
    """Return the query of parameters, or the error message."""
    try:
        return parse_cdx_query(Parameters(pairs), dialect, None, collection)
    except CdxQueryError as error:
        return str(error)


@given(
    url=st.text(st.sampled_from("aB.*:/? &=#%20@-é\x00\n"), max_size=12)
    | st.sampled_from(("*.a.example", " a.example/* ", "HTTP://A.example:80/B c", "*", "http:")),
    dialect=st.sampled_from(tuple(DIALECTS.values())),
    collection=st.sampled_from(("", "web")),
)
def test_a_url_alone_is_understood_as_one_among_other_parameters(
    url: str, dialect: Dialect, collection: str
) -> None:
    alone = understood([("url", url)], dialect, collection)
    assert alone == understood([("url", url), ("matchType", "")], dialect, collection)


def test_a_url_alone_takes_what_the_dialect_takes_for_granted() -> None:
    query = parsed("url=http://www.example.org/a")
    assert query.urlkey == "org,example)/a"
    assert (query.limit, query.order, query.output) == (None, RowOrder.DEFAULT, OutputForm.TEXT)
    assert parsed("url=a.example", PYWB).limit == PYWB.limit
    assert parsed("url=a.example/*").urlkey == ""


def test_an_asterisk_alone_is_everything() -> None:
    everything = CdxSpan("", chr(0x10FFFF))
    assert (parsed("url=*").span, parsed("url=*").urlkey) == (everything, "")
    with pytest.raises(CdxQueryError, match="not a URL"):
        parsed("url=*.")


def test_a_negative_limit_asks_for_the_newest() -> None:
    query = parsed("url=a.example&limit=-3")
    assert (query.limit, query.newest) == (3, True)
    assert parsed("url=a.example&limit=0").limit is None
    assert parsed("url=a.example&limit=0", OUTBACK).limit == 0


def test_closest_without_a_time_is_the_usual_order() -> None:
    assert parsed("url=a.example&sort=closest&closest=", PYWB).order is RowOrder.DEFAULT
    query = parsed("url=a.example&closest=2010", PYWB)
    assert (query.order, query.closest) == (RowOrder.CLOSEST, "20100101000000")
    assert parsed("url=a.example/*&closest=2010", PYWB).limit == MOST_HELD


def test_pages_and_resume_keys() -> None:
    assert parsed("url=a.example&page=2").paging == Paging(2, IA.page_blocks, count=False)
    assert parsed("url=a.example&showNumPages=true").paging == Paging(0, IA.page_blocks, count=True)
    query = parsed("url=a.example&resumeKey=example%2Ca)/+20100101000000+2")
    assert query.resume == Resume("example,a)/", "20100101000000", 2)


def test_a_request_with_a_body_has_a_key_of_its_own() -> None:
    query = parsed("url=http://a.example/&method=POST&requestBody=x%3D1")
    assert query.urlkey == "example,a)/?__wb_method=post&x=1"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "url is missing"),
        ("url=a.example&urlkey=x", "only one"),
        ("url=a.example&matchType=some", "choose one of exact"),
        ("url=a.example&output=xml", "output is"),
        ("url=a.example&sort=up", "sort is"),
        ("url=a.example&digest=md5", "digest is"),
        ("url=a.example&fl=colour", "colour"),
        ("url=a.example&showDupeCount=true", "not supported"),
        ("url=a.example&limit=-20000", "a limit of at most 10000"),
        ("url=a.example&withOriginals=true", "needs a limit"),
        ("url=a.example&page=1&sort=reverse", "pages need captures"),
        ("url=a.example&resumeKey=x", "resumeKey is"),
        ("url=a.example&limt=1", "did you mean limit"),
    ],
)
def test_what_makes_no_sense_is_an_error_that_names_the_parameter(query: str, words: str) -> None:
    with pytest.raises(CdxQueryError, match=words):
        parsed(query)


@pytest.mark.parametrize(
    "query", ["url=a.example/*&sort=reverse", "url=a.example/*&from=2010", "url=a.example&page=1"]
)
def test_outback_refuses_what_outbackcdx_refuses(query: str) -> None:
    with pytest.raises(CdxQueryError):
        parsed(query, OUTBACK)


@pytest.mark.parametrize(
    "date", ["2", "2010", "20101", "2010043", "20100430235959", "0000", "00000000", "201002282"]
)
def test_dates_may_be_cut_anywhere(date: str) -> None:
    query = parse_cdx_query(parameters_of(f"url=a.example&from={date}"), IA)
    assert query.date_from == date


@pytest.mark.parametrize(
    ("url", "bare", "match"),
    [
        ("*.example.org", "example.org", MatchType.DOMAIN),
        ("example.org/a*", "example.org/a", MatchType.PREFIX),
        ("example.org/a", "example.org/a", MatchType.EXACT),
    ],
)
def test_wildcards(url: str, bare: str, match: MatchType) -> None:
    assert expanded(url, None) == (bare, match)
    assert expanded(url, MatchType.EXACT) == (url, MatchType.EXACT)


@pytest.mark.parametrize(
    ("match", "inside", "outside"),
    [
        (MatchType.EXACT, ["org,example)/a 2010 "], ["org,example)/ab 2010 "]),
        (
            MatchType.PREFIX,
            ["org,example)/a 2010 ", "org,example)/ab 2010 "],
            ["org,example)/b 1 "],
        ),
        (MatchType.HOST, ["org,example)/ 1 ", "org,example)/z 1 "], ["org,example,www)/ 1 "]),
        (
            MatchType.DOMAIN,
            ["org,example)/z 1 ", "org,example,www)/ 1 "],
            ["org,examples)/ 1 ", "org,example-two)/ 1 "],
        ),
    ],
)
def test_a_span_holds_what_matches(match: MatchType, inside: list[str], outside: list[str]) -> None:
    span = span_of("http://example.org/a", match, "org,example)/a")
    assert [span.start <= line < span.end for line in inside] == [True] * len(inside)
    assert [span.start <= line < span.end for line in outside] == [False] * len(outside)


def test_a_domain_of_one_label_holds_its_own_captures() -> None:
    span = parsed("url=*.localhost").span
    for line in ("localhost)/ 1 ", "localhost,app)/ 1 "):
        assert span.start <= line < span.end
    assert not span.start <= "localhost-two)/ 1 " < span.end


@pytest.mark.parametrize("url", ["http://", "http:///"])
def test_a_url_without_an_address_is_an_error(url: str) -> None:
    with pytest.raises(CdxQueryError):
        urlkey_of(url)


@pytest.mark.parametrize("prefix", ["a", "a\ud7ff", "\U0010ffffa", "a\U0010ffff"])
def test_key_after_is_beyond_all_that_begin_so(prefix: str) -> None:
    after = key_after(prefix)
    assert after.encode() > (prefix + "\U0010ffff").encode()[: len(prefix.encode()) + 1]
    assert not after.startswith(prefix)


@pytest.mark.parametrize(
    "typed", ["example.org:80", "www.example.org:80/", "http://example.org:80/"]
)
def test_a_host_with_a_port_needs_no_scheme(typed: str) -> None:
    assert parsed(f"url={typed}").urlkey == "org,example)/"
    assert parsed("url=*.example.org:8080").span == parsed("url=*.example.org:8080/").span
