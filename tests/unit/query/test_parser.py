"""From Lucene syntax to the query tree."""

import pytest

from nwx.errors import QueryError
from nwx.query.escapes import MAX_CHARACTERS
from nwx.query.parser import parse_query
from nwx.query.tree import All, Bool, Boost, DateRange, Fuzzy, Node, Phrase, Range, Term, Wildcard

A, B, C = Term("", "a"), Term("", "b"), Term("", "c")
SHA1 = "sha1:B4HQ6DYPB4HQ6DYPB4HQ6DYPB4HQ6DYP"
FIRST, LAST = "20100101000000", "20101231235959"

SYNTAX: dict[str, Node] = {
    "a": A,
    "a b": Bool(must=(A, B)),
    "a AND b": Bool(must=(A, B)),
    "a && b": Bool(must=(A, B)),
    "a OR b": Bool(should=(A, B)),
    "a || b": Bool(should=(A, B)),
    "a OR b AND c": Bool(should=(A, Bool(must=(B, C)))),
    "a (b OR c)": Bool(must=(A, Bool(should=(B, C)))),
    "+a -b": Bool(must=(A,), must_not=(B,)),
    "a NOT b": Bool(must=(A,), must_not=(B,)),
    "a AND NOT b": Bool(must=(A,), must_not=(B,)),
    "!a": Bool(must_not=(A,)),
    "-(a b)": Bool(must_not=(Bool(must=(A, B)),)),
    '"a b"': Phrase("", "a b"),
    '"a b"~3': Phrase("", "a b", 3),
    "www.a.org": Bool(should=(Term("", "www.a.org"), Phrase("url_text", "a org"))),
    "a.org:80/b-c/%C3%A9": Bool(
        should=(Term("", "a.org:80/b-c/%C3%A9"), Phrase("url_text", "a org 80 b c é"))
    ),
    "inurl:a.org": Bool(should=(Term("url_text", "a.org"), Phrase("url_text", "a org"))),
    "title:a.org": Term("title", "a.org"),
    "a.b@c.org": Term("", "a.b@c.org"),
    "3.14": Term("", "3.14"),
    "a~": Fuzzy("", "a", 2),
    "a~1": Fuzzy("", "a", 1),
    "a~0.8": Fuzzy("", "a", 2),
    "a^2.5": Boost(A, 2.5),
    '"a b"^2': Boost(Phrase("", "a b"), 2.0),
    "colo?r": Wildcard("", "colo?r"),
    "arch*": Wildcard("", "arch*"),
    r"arch\*": Term("", "arch*"),
    "title:a": Term("title", "a"),
    "title:(a OR b)": Bool(should=(Term("title", "a"), Term("title", "b"))),
    "title:*": Wildcard("title", "*"),
    "TITLE:a": Term("title", "a"),
    "site:example.org": Term("domain", "example.org"),
    "type:pdf": Term("content_type_norm", "pdf"),
    "status:404": Term("status_code", "404"),
    "status:[200 TO 299]": Range("status_code", "200", "299"),
    "status:{200 TO 299}": Range("status_code", "200", "299", False, False),
    "size:>=1000": Range("content_length", "1000", None),
    "size:<1000": Range("content_length", None, "1000", True, False),
    "size:[* TO 5]": Range("content_length", None, "5"),
    "year:2010": DateRange(FIRST, LAST),
    "date:2010-03": DateRange("20100301000000", "20100331235959"),
    "date:[2010 TO *]": DateRange(FIRST, ""),
    "date:2009..2010": DateRange("20090101000000", LAST),
    "date:{2009 TO 2011}": DateRange(FIRST, LAST),
    "date:<2011": DateRange("", LAST),
    f"digest:{SHA1}": Term("digest", SHA1),
    f"digest:{SHA1[5:]}": Term("digest", SHA1),
    f"digest:{SHA1[5:].lower()}": Term("digest", SHA1),
    "digest:" + "0f" * 20: Term("digest", SHA1),
    "digest:urn:sha1:" + "0F" * 20: Term("digest", SHA1),
    f'digest:"{SHA1}"': Term("digest", SHA1),
    f"digest:({SHA1} OR SHA-1:{SHA1[5:]})": Bool(should=(Term("digest", SHA1),) * 2),
    "digest:" + "0f" * 16: Term("digest", "md5:" + "0f" * 16),
    f"hash:{SHA1}": Term("digest", SHA1),
    'url_norm:"http://www.Example.org/a/"': Term("urlkey", "org,example)/a"),
    "url_norm:http\\:\\/\\/example.org\\/a": Term("urlkey", "org,example)/a"),
    "url:example.org:80/a": Term("urlkey", "org,example)/a"),
    "site:http://www.Example.org/a": Term("domain", "example.org"),
    "host:https://www.example.org": Term("host", "www.example.org"),
    "url:www.example.org:8080": Term("urlkey", "org,example:8080)/"),
    "url:localhost:8080/*": Wildcard("urlkey", "localhost:8080)/*"),
    "url:example.org/a": Term("urlkey", "org,example)/a"),
    "url:dns\\:example.org": Term("url", "dns:example.org"),
    "url:ex*.org/a": Wildcard("url", "ex*.org/a"),
    "urlkey:example.org:80/a*": Wildcard("urlkey", "org,example)/a*"),
    "url_norm:https://example.org/a/*": Wildcard("urlkey", "org,example)/a/*"),
    "wayback_date:20100102030405": DateRange("20100102030405", "20100102030405"),
    "wayback_date:[20100101000000 TO 20101231235959]": DateRange(
        "20100101000000", "20101231235959"
    ),
    "digest:sha1:3I42*": Wildcard("digest", "sha1:3I42*"),
    "crawl_date:2010": Range("crawl_date", FIRST, LAST),
}

AS_TYPED: dict[str, Node] = {
    "": All(),
    "  ": All(),
    "*": All(),
    "*:*": All(),
    "-": All(),
    "AND": Term("", "AND"),
    "C++": Term("", "C++"),
    "what's on ?": Bool(must=(Term("", "what's"), Term("", "on"))),
    "?": All(),
    "In\u00adfor\u200bma\ufefftion": Term("", "Information"),
    "\u00ad": All(),
    "colou?": Wildcard("", "colou?"),
    "title:colou?": Wildcard("title", "colou?"),
    "a**b": Wildcard("", "a*b"),
    "a*?*b": Wildcard("", "a?*b"),
    "Pra\u0301va": Term("", "Práva"),
    '"Lidska\u0301 pra\u0301va"~3': Phrase("", "Lidská práva", 3),
    "title:pra\u0301v*": Wildcard("title", "práv*"),
    "pra\u0301v~1": Fuzzy("", "práv", 1),
    "site:Exampl.ORG~1": Fuzzy("domain", "exampl.org", 1),
    "a - b": Bool(must=(A, B)),
    "a > b": Bool(must=(A, B)),
    "a, b!": Bool(must=(Term("", "a,"), Term("", "b!"))),
    "12:30": Term("", "12:30"),
    "note: a": Bool(must=(Term("", "note:"), A)),
    "https://www.a.org/x?y=1": Term("urlkey", "org,a)/x?y=1"),
    "https://a.org/*": Wildcard("urlkey", "org,a)/*"),
    "http://a.org/*x": Wildcard("url", "http://a.org/*x"),
    "url:http://a.org:80/": Term("url", "http://a.org:80/"),
    "me@example.org": Term("", "me@example.org"),
    "/etc/hosts": Term("", "/etc/hosts"),
    "'a'": Term("", "'a'"),
    "~user": Term("", "~user"),
    "a^b": Term("", "a^b"),
    "[a": Term("", "[a"),
    "a}": Term("", "a}"),
    "a\\": Term("", "a\\"),
    "年度": Term("", "年度"),
    "ไทย": Wildcard("", "*ไทย*"),
    "ภาษาไทย,abc": Bool(must=(Wildcard("", "*ภาษาไทย*"), Term("", ",abc"))),
    "៥០": Term("", "៥០"),
    "site:Example.ORG": Term("domain", "example.org"),
    "type:PD*": Wildcard("content_type_norm", "pd*"),
    "TO": Term("", "TO"),
}

ERRORS = {
    '"a b': (0, "quotation mark"),
    "(a": (0, "not closed"),
    "a)": (1, "bracket"),
    "a AND": (5, "missing"),
    "a AND OR b": (6, "^'OR' is not expected"),
    "a && || b": (5, r"^'\|\|' is not expected"),
    "x titel:a": (2, "did you mean 'title'"),
    "nosuchfield:a": (0, "is not a field"),
    "year:[2010 2012]": (5, "LOW TO HIGH"),
    "year:soon": (5, "is not a date"),
    "status:ok": (7, "is a number"),
    "status:4*": (7, "allows no wildcards"),
    "title:[a TO b]": (6, "no ranges"),
    "size:[5 TO -1]": (5, "ends before it begins"),
    "date:2014..2013": (5, "ends before it begins"),
    "a date:[2013-05 TO 2013-04]": (7, "ends before it begins"),
    'year:"a b"~3': (5, "is not text"),
    "a \udcff": (2, "not valid UTF-8"),
    "digest:none": (7, "is not a known kind of digest"),
    "a~7": (0, "distance"),
    "a^9999999": (0, "weight"),
    "title:(site:a)": (7, "field within"),
}


@pytest.mark.parametrize("query", SYNTAX | AS_TYPED)
def test_a_query_has_its_tree(query: str) -> None:
    assert parse_query(query) == (SYNTAX | AS_TYPED)[query]


@pytest.mark.parametrize("query", ERRORS)
def test_an_error_knows_its_place(query: str) -> None:
    place, words = ERRORS[query]
    with pytest.raises(QueryError, match=words) as caught:
        parse_query(query)
    shown = query.replace("\udcff", "?")
    assert (caught.value.query, caught.value.position) == (shown, place)


@pytest.mark.parametrize(
    "query",
    ["a" * (MAX_CHARACTERS + 1), "(" * 500 + "a" + ")" * 500, "a " * 3000, "-" * 3000 + "a"],
)
def test_queries_have_bounds(query: str) -> None:
    try:
        parse_query(query)
    except QueryError as error:
        assert len(str(error)) < 200
    else:
        assert query.startswith("-"), "only a run of dashes is text"
