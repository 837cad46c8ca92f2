"""JSON-LD, of pages that are right and of others."""

import json
from typing import Any

import pytest

from nwx.steering.structured.draft import MOST_TRIPLES
from tests.unit.steering.structured.pages import facts, problems


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
    told = "json-ld: the context 'http://127.0.0.1:9/c' is not fetched"
    assert problems(script(value))[0] == told
    scoped = {"@context": {"p": {"@id": "http://p/", "@context": "http://b/"}}, "p": {"q": "v"}}
    assert facts(script(scoped)) == set()


def test_wrappings_and_line_breaks_in_texts_are_read() -> None:
    text = '{"@context": "http://schema.org", "name": "two\nlines"}'
    for wrapped in (f"<!-- {text} -->", f"//<![CDATA[\n{text}\n//]]>", f"{text};"):
        assert facts(script(wrapped)) == {("#n1", "s:name", '"two\\nlines"')}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read"),
        ('{"a": ' * 50_000 + "1" + "}" * 50_000, "nested more than"),
        (json.dumps({"@context": "http://schema.org", "a": [1] * 9_000}), "more than 5000 values"),
        ('"' + "x" * 600_000 + '"', "characters"),
    ],
)
def test_what_is_too_much_is_left_out_and_told(text: str, told: str) -> None:
    assert facts(script(text)) == set()
    [problem] = problems(script(text))
    assert told in problem


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
    assert problems(html) == (f"triples: more than {MOST_TRIPLES}, the rest was left out",)


def test_spaces_without_end_are_passed_over() -> None:
    # An expression that tries each of them as the begin of the end would take hours.
    text = '{"@context": "http://schema.org", "name": "v%sv"}'
    assert len(facts(script(text % (" " * 400_000)))) == 1
    assert facts(script(" " * 500_000)) == set()


def test_nodes_without_a_name_are_those_of_their_script() -> None:
    texts = ({"@context": "http://schema.org", "@id": "_:b0", "name": name} for name in "xy")
    html = "".join(map(script, texts))
    assert facts(html) == {("#n1", "s:name", '"x"'), ("#n2", "s:name", '"y"')}
