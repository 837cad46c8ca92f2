"""Valid and invalid JSON-LD in pages."""

import json
import pickle
from typing import Any

import pytest

from nwx.steering.triples.structured_data import structured_triples
from nwx.steering.triples.terms import MOST_TRIPLES
from tests.unit.steering.triples.pages import URL, facts, view


def script(value: Any, kind: str = "application/ld+json") -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'<html><head><script type="{kind}">{text}</script></head><body>x</body></html>'


def test_things_without_a_name_are_named_by_their_order() -> None:
    value = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": "Lamps",
        "url": "/lamps",
        "author": [{"@type": "Person", "name": "Ada"}, {"@type": "Person", "@id": "#b"}],
    }
    expected = {
        ("#n1", "a", "s:NewsArticle"),
        ("#n1", "s:headline", '"Lamps"'),
        ("#n1", "s:url", "http://a.example/lamps"),
        ("#n1", "s:author", "#n2"),
        ("#n2", "a", "s:Person"),
        ("#n2", "s:name", '"Ada"'),
        ("#n1", "s:author", "http://a.example/dir/page#b"),
        ("http://a.example/dir/page#b", "a", "s:Person"),
    }
    assert facts(script(value)) == expected
    assert facts(script(value, "Application/LD+JSON; charset=utf-8")) == expected


@pytest.mark.parametrize(
    "context",
    [
        "http://schema.org",
        "https://www.schema.org/",
        "https://schema.org/docs/jsonldcontext.json",
        ["http://schema.org", {"x": "http://x.example/"}],
        {"@vocab": "http://schema.org/"},
    ],
)
def test_schema_org_is_one_vocabulary_in_all_spellings(context: object) -> None:
    found = facts(script({"@context": context, "@type": "Person", "name": "Ada"}))
    assert found == {("#n1", "a", "s:Person"), ("#n1", "s:name", '"Ada"')}


def test_no_other_context_is_fetched() -> None:
    value = {"@context": ["http://127.0.0.1:9/c", {"@import": "http://b/"}], "@id": "x", "n": "v"}
    assert facts(script(value)) == set()
    scoped = {"@context": {"p": {"@id": "http://p/", "@context": "http://b/"}}, "p": {"q": "v"}}
    assert facts(script(scoped)) == set()


def test_wrappings_and_line_breaks_in_texts_are_read() -> None:
    text = '{"@context": "http://schema.org", "name": "two\nlines"}'
    for wrapped in (f"<!-- {text} -->", f"//<![CDATA[\n{text}\n//]]>", f"{text};"):
        assert facts(script(wrapped)) == {("#n1", "s:name", '"two\\nlines"')}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": ' * 50_000 + "1" + "}" * 50_000,
        json.dumps({"@context": "http://schema.org", "a": [1] * 9_000}),
        '"' + "x" * 600_000 + '"',
    ],
)
def test_what_is_too_much_is_left_out(text: str) -> None:
    assert facts(script(text)) == set()


def test_invalid_terms_are_escaped_or_left_out() -> None:
    value = {
        "@context": {"@vocab": "http://schema.org/"},
        "@id": 'http://b.example/a b<>"{}|\\^`%zz',
        "name": {"@value": "v", "@language": "not a language"},
        "x y": "z",
        "long": "w" * 9_000,
        "url": {"@id": "http://[broken"},
    }
    found = {key: (subject, value) for subject, key, value in facts(script(value))}
    subject = "http://b.example/a%20b%3C%3E%22%7B%7D%7C%5C%5E%60%25zz"
    assert found["s:name"] == (subject, '"v"')
    assert found["s:x%20y"] == (subject, '"z"')
    assert len(found["s:long"][1]) == 2_002
    assert "s:url" not in found


def test_a_flood_of_triples_is_bounded() -> None:
    value = [{"@context": "http://schema.org", "name": f"n{n}", "a": f"{n}"} for n in range(800)]
    html = "".join(script(value[begin : begin + 400]) for begin in (0, 400))
    html += script([{"@context": "http://schema.org", "b": f"{n}"} for n in range(900)])
    assert len(facts(html)) == MOST_TRIPLES


def test_spaces_without_end_are_passed_over() -> None:
    # A pattern that backtracks at each space would take hours.
    text = '{"@context": "http://schema.org", "name": "v%sv"}'
    assert len(facts(script(text % (" " * 400_000)))) == 1
    assert facts(script(" " * 500_000)) == set()


def test_nodes_without_a_name_are_those_of_their_script() -> None:
    texts = ({"@context": "http://schema.org", "@id": "_:b0", "name": name} for name in "xy")
    html = "".join(map(script, texts))
    assert facts(html) == {("#n1", "s:name", '"x"'), ("#n2", "s:name", '"y"')}


def test_values_come_from_where_the_standard_says() -> None:
    html = """
    <div itemscope itemtype="http://schema.org/Person http://schema.org/Patient" itemid="me">
      <p>My name is <span itemprop="name nick"> Ada
        <b>L.</b></span></p>
      <img itemprop="image" src="ada.png"><a itemprop="url" href="//b.example/">here</a>
      <meta itemprop="gender" content="female"><data itemprop="age" value="36">many</data>
      <time itemprop="birthDate" datetime="1815-12-10">1815</time>
      <time itemprop="deathDate">1852</time>
      <object itemprop="http://o.example/prop" data="o.bin"></object>
      <a itemprop="empty" href="">x</a>
    </div>"""
    me = "http://a.example/dir/me"
    assert facts(html) == {
        (me, "a", "s:Person"),
        (me, "a", "s:Patient"),
        (me, "s:name", '"Ada L."'),
        (me, "s:nick", '"Ada L."'),
        (me, "s:image", "http://a.example/dir/ada.png"),
        (me, "s:url", "http://b.example/"),
        (me, "s:gender", '"female"'),
        (me, "s:age", '"36"'),
        (me, "s:birthDate", '"1815-12-10"'),
        (me, "s:deathDate", '"1852"'),
        (me, "http://o.example/prop", "http://a.example/dir/o.bin"),
    }


def test_items_within_items_and_references() -> None:
    html = """
    <div itemscope itemtype="http://v.example/ns#Band" itemref="a b">x</div>
    <p id="a">Name: <span itemprop="name">Jazz Band</span></p>
    <div id="b" itemprop="member" itemscope><span itemprop="size">12</span></div>"""
    assert facts(html) == {
        ("#n1", "a", "http://v.example/ns#Band"),
        ("#n1", "http://v.example/ns#name", '"Jazz Band"'),
        ("#n1", "http://v.example/ns#member", "#n2"),
        ("#n2", "http://v.example/ns#size", '"12"'),
    }


def test_items_without_a_type_have_no_names_of_properties() -> None:
    assert facts('<p itemscope><b itemprop="name">x</b></p>') == set()


def test_references_in_a_circle_end() -> None:
    html = """<div itemscope itemtype="http://s.example/T" id="a" itemprop="p" itemref="a b"></div>
    <div itemscope itemtype="http://s.example/T" itemref="a"><i itemprop="q">v</i></div>"""
    assert ("#n1", "http://s.example/q", '"v"') in facts(html)


def test_a_flood_of_items_is_bounded() -> None:
    item = '<p itemscope itemtype="http://s.example/T"><b itemprop="n">v</b></p>'
    assert len(facts(item * 5_000)) <= 1_000
    deep = '<div itemscope itemtype="http://s.example/T" itemprop="p">' * 300
    assert len(facts(f"<div itemscope itemtype='http://s.example/T'>{deep}")) <= 80
    flood = '<div itemscope itemtype="http://s.example/T">' + "<b>v</b>" * 30_000
    assert len(facts(flood)) == 1


def test_named_metadata_are_statements_about_the_page() -> None:
    html = """<meta property="og:title" content="A title"><meta name="viewport" content="x">
    <meta property="og:image" content="http://b.example/i.png">
    <meta property="og:url" content="not an address">
    <meta property="article:published_time" content="2015-01-01">
    <meta name="DC.Creator" content="Ada"><meta name="DC.creator" content="Bea">
    <meta name="dcterms.issued" content="2014"><meta name="og:" content="x">"""
    assert facts(html) == {
        (URL, "http://ogp.me/ns#title", '"A title"'),
        (URL, "http://ogp.me/ns#image", "http://b.example/i.png"),
        (URL, "http://ogp.me/ns#url", '"not an address"'),
        (URL, "http://ogp.me/ns/article#published_time", '"2015-01-01"'),
        (URL, "http://purl.org/dc/elements/1.1/creator", '"Ada"'),
        (URL, "http://purl.org/dc/elements/1.1/creator", '"Bea"'),
        (URL, "http://purl.org/dc/terms/issued", '"2014"'),
    }


PAGE = """<meta property="og:title" content="T">
<script type="application/ld+json">{"@context": "http://schema.org", "name": "A"}</script>
<p itemscope itemtype="http://schema.org/Person"><b itemprop="name">B</b></p>"""


def test_the_same_page_gives_the_same_triples() -> None:
    first, again = structured_triples(view(PAGE)), structured_triples(view(PAGE))
    assert first == again
    assert len(first) == 4
    assert pickle.loads(pickle.dumps(first)) == first
    assert {subject for subject, key, _ in facts(PAGE) if key == "s:name"} == {"#n1", "#n2"}


def test_hostile_markup_is_left_out() -> None:
    many = " ".join(f"a{n}" for n in range(20_000))
    page = view(f"<p itemscope {many}>x</p>")
    assert structured_triples(page) == []
    for data in (b"", b"\x00itemscope\xff", b"itemscope" * 1_000_000):
        assert structured_triples(view(data)) == []
