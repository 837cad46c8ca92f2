"""Captures are streamed in CDX order."""

from nwx.engine.base import Engine
from nwx.model import Batch, Capture
from tests.conformance.archive import capture

CAPTURES = [
    capture("http://example.org/a", "2010"),
    capture("http://example.org/a", "2012", source_file="b.warc.gz"),
    capture("http://example.org/a", "2011", offset=70),
    capture("http://example.org/a", "2011", offset=8, digest=""),
    capture("http://example.org/a", "2011", source_file="Z.warc.gz", offset=99, status=404),
    capture("http://example.org/a/b", "2010", redirect_to="http://example.org/c"),
    capture("http://example.org/é", "2010", collection="other"),
    capture("http://example.org/日本", "2009"),
    capture("http://example.net/", "2010", record_type="revisit"),
    capture("http://www.sub.example.org/", "2010", status=None, length=None),
]
BATCHES = [Batch(captures=tuple(CAPTURES))]


def in_order(captures: list[Capture]) -> list[Capture]:
    return sorted(
        captures,
        key=lambda c: (c.urlkey.encode(), c.timestamp, c.source_file, c.source_file_offset),
    )


def test_captures_of_one_urlkey(archive: Engine) -> None:
    wanted = [one for one in CAPTURES if one.urlkey == "org,example)/a"]
    found = list(archive.captures("org,example)/a"))
    assert found == in_order(wanted)
    assert [one.source_file_offset for one in found][1:4] == [99, 8, 70]


def test_captures_of_an_unknown_urlkey(archive: Engine) -> None:
    assert list(archive.captures("org,example)/nothing")) == []


def test_captures_of_a_span_of_urlkeys(archive: Engine) -> None:
    assert list(archive.captures("", "\U0010ffff")) == in_order(CAPTURES)
    below = [one for one in CAPTURES if one.urlkey.startswith("org,example)/a")]
    assert list(archive.captures("org,example)/a", "org,example)/b")) == in_order(below)


def test_the_end_of_a_span_is_outside(archive: Engine) -> None:
    found = list(archive.captures("org,example)/a", "org,example)/a/b"))
    assert {one.urlkey for one in found} == {"org,example)/a"}
    assert list(archive.captures("b", "a")) == []


def test_spans_are_compared_as_bytes(engine: Engine) -> None:
    # U+FFFF sorts before U+1F600 in UTF-8, but after it in UTF-16
    keys = ["org,example)/\uffee", "org,example)/\U0001f600"]
    made = [_with_key(key, number) for number, key in enumerate(keys)]
    engine.write(Batch(captures=tuple(made)))
    engine.refresh()
    assert [one.urlkey for one in engine.captures("org", "p")] == keys
    assert [one.urlkey for one in engine.captures("org", keys[1])] == keys[:1]


def test_more_captures_than_a_page(engine: Engine) -> None:
    many = [
        capture(f"http://example.org/{n % 3}", f"20{n // 100:02}{n % 12 + 1:02}", offset=n)
        for n in range(2300)
    ]
    engine.write(Batch(captures=tuple(many)))
    engine.refresh()
    assert list(engine.captures("org", "p")) == in_order(many)
    first = [one for one in many if one.urlkey == "org,example)/1"]
    assert list(engine.captures("org,example)/1")) == in_order(first)


def test_the_same_place_in_two_collections_is_two_captures(engine: Engine) -> None:
    both = [
        capture("http://example.org/", "2010", collection=name, offset=7) for name in ("b", "a")
    ]
    assert engine.write(Batch(captures=tuple(both))).captures == 2
    engine.refresh()
    assert {one.collection for one in engine.captures("org,example)/")} == {"a", "b"}


def _with_key(key: str, offset: int) -> Capture:
    fields = {name: getattr(CAPTURES[0], name) for name in Capture.__dataclass_fields__}
    return Capture(**fields | {"urlkey": key, "source_file_offset": offset})
