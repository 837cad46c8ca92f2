"""Comparing collections of any content gives the counts of plain Python."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from nwx.captures import is_page
from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import Fault, PlaybackScore
from nwx.errors import UsageError
from nwx.keys import capture_id
from nwx.model import Batch, Capture
from nwx.steering.comparison.comparison import RelevanceQuestion, compare
from nwx.steering.comparison.comparison_json import comparison_json
from nwx.steering.comparison.counts import ScoreTable
from nwx.steering.comparison.simulation import archived_web
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    LinkRule,
    RuleAction,
    Thresholds,
)
from tests.conformance.archive import capture, document

ABOVE_ENGINES = True

_HOSTS = (
    *("example.org", "www.example.org", "sub.example.org", "example.org:8080", "examplf.org"),
    "[2001:db8::1]",
)
_SPECIFICATION = CrawlSpecification(
    "floods",
    seeds=("http://example.org/0", "http://nowhere.org/"),
    rules=(
        LinkRule(RuleAction.BLACKLIST, hosts=("examplf.org",)),
        LinkRule(RuleAction.PREFER, expressions=("/1$",)),
    ),
    thresholds=Thresholds(relevant=0.5),
)


def _captures(chance: Random, number: int) -> list[Capture]:
    return [
        capture(
            f"http://{chance.choice(_HOSTS)}/{chance.randrange(6)}",
            f"{chance.choice((2010, 2011, 2012))}{chance.randint(1, 12):02}01",
            body=str(chance.randrange(3)),
            collection=chance.choice("abc"),
            offset=offset,
            record_type=chance.choice(("response", "response", "revisit")),
            status=chance.choice((200, 200, 301, 404, 503, None)),
            content_type=chance.choice(("text/html", "image/png")),
            length=chance.choice((None, 900, 1200)),
        )
        for offset in range(number)
    ]


CAPTURES = _captures(Random(5), 600)
RENDERS = [
    capture(
        f"{prefix}http://example.org/{number}",
        "2011",
        collection="ab"[number % 2],
        record_type="resource",
        status=None,
        content_type="image/png",
        offset=10_000 + number,
    )
    for number, prefix in enumerate(("urn:view:", "urn:view:", "screenshot:", "onreadydom:"))
]
"""Renders, which are not compared."""

BATCHES = [Batch(captures=(*CAPTURES, *RENDERS))]
RESOURCES = [f"org,example)/r{number}" for number in range(6)]


def _checks(chance: Random) -> list[PlaybackScore]:
    """Return scores of captures of two collections."""
    some = [one for one in CAPTURES if one.collection in "ab" and chance.random() < 0.5]
    return [
        PlaybackScore(
            *(capture_id(one.collection, one.source_file, one.source_file_offset),),
            *(one.collection, one.url, one.urlkey, one.host, one.domain, one.timestamp),
            *("20260101000000", "1", chance.randrange(5) / 4),
            faults=tuple(
                Fault(kind, "http://example.org/r")
                for kind in chance.choices(("missing", "console", "far"), k=chance.randrange(4))
            ),
            resources=tuple(chance.sample(RESOURCES, chance.randrange(3))),
        )
        for one in some
    ]


CHECKS = _checks(Random(9))
SCORES = {
    one.document_id: Random(one.document_id).random()
    for one in CAPTURES
    if Random(one.document_id).random() > 0.3
}


def _host(one: Capture) -> str:
    return one.urlkey.partition(")")[0]


def _key(one: Capture) -> tuple[str, str]:
    return one.url, one.digest


def _of(captures: Sequence[Capture]) -> dict[str, Any]:
    """Return the expected counts of one collection."""
    first: set[tuple[str, str]] = set()
    duplicates = []
    for one in sorted(captures, key=_order):
        if _key(one) in first:
            duplicates.append(one)
        first.add(_key(one))
    statuses = Counter(str(one.status_code or "-") for one in captures)
    return {
        "captures": len(captures),
        "revisits": sum(one.record_type == "revisit" for one in captures),
        "urls": len({one.urlkey for one in captures}),
        "hosts": len({_host(one) for one in captures}),
        "documents": len(first),
        "duplicates": len(duplicates),
        "duplicate_bytes": sum(one.record_length or 0 for one in duplicates),
        "bytes": sum(one.record_length or 0 for one in captures),
        "first": min(one.timestamp for one in captures),
        "last": max(one.timestamp for one in captures),
        "errors": sum((one.status_code or 0) >= 400 for one in captures),
        "statuses": dict(sorted(statuses.items())),
    }


def _order(one: Capture) -> tuple[str, str, int]:
    return one.urlkey, one.timestamp, one.source_file_offset


def _newest(captures: Sequence[Capture]) -> dict[str, Capture]:
    return {one.urlkey: one for one in sorted(captures, key=_order)}


def _both(a: set[Any], b: set[Any]) -> dict[str, int]:
    return {"both": len(a & b), "only_a": len(a - b), "only_b": len(b - a)}


def test_counts_of_any_two_collections(archive: Engine) -> None:
    a = [one for one in CAPTURES if one.collection == "a"]
    b = [one for one in CAPTURES if one.collection == "b"]
    found = comparison_json(compare(archive, "a", "b"))
    assert {name: found["a"][name] for name in _of(a)} == _of(a)
    assert {name: found["b"][name] for name in _of(b)} == _of(b)
    for name, of_capture in (("urls", lambda one: one.urlkey), ("hosts", _host)):
        expected = _both(set(map(of_capture, a)), set(map(of_capture, b)))
        assert {each: found["overlap"][name][each] for each in expected} == expected
    documents = _both(set(map(_key, a)), set(map(_key, b)))
    assert {each: found["overlap"]["documents"][each] for each in documents} == documents
    in_a, in_b = _newest(a), _newest(b)
    pairs = [(in_a[key], in_b[key]) for key in in_a.keys() & in_b.keys()]
    assert found["freshness"]["newer_in_a"] == sum(x.timestamp > y.timestamp for x, y in pairs)
    assert found["freshness"]["newer_in_b"] == sum(x.timestamp < y.timestamp for x, y in pairs)
    assert found["freshness"]["changed"] == sum(x.digest != y.digest for x, y in pairs)
    assert found["overlap"]["urls"]["jaccard"] == round(len(pairs) / len(in_a | in_b), 4)
    assert sum(found["a"]["ages"]["urls"]) == len(in_a)


def test_hosts_come_by_their_captures(archive: Engine) -> None:
    found = comparison_json(compare(archive, "a", "b"))["hosts"]
    held = Counter(_host(one) for one in CAPTURES if one.collection in "ab")
    assert [sum(one["captures"]) for one in found] == sorted(held.values(), reverse=True)
    assert {one["host"] for one in found} == {
        "example.org",
        "example.org:8080",
        "examplf.org",
        "sub.example.org",
        "[2001:db8::1]",
    }


def _first_documents(captures: Sequence[Capture]) -> list[Capture]:
    """Return the first capture of each document, in CDX order."""
    first: dict[tuple[str, str], Capture] = {}
    for one in sorted(captures, key=_order):
        first.setdefault(_key(one), one)
    return list(first.values())


def _pages(captures: Sequence[Capture]) -> list[Capture]:
    """Return first captures of documents that may be pages; those of revisits have no type."""
    return [
        one
        for one in _first_documents(captures)
        if one.content_type == "text/html" or one.record_type == "revisit"
    ]


def test_relevance_of_a_collection(archive: Engine) -> None:
    question = RelevanceQuestion(_SPECIFICATION, ScoreTable(SCORES.items()))
    found = comparison_json(compare(archive, "a", question=question))["a"]
    own = [one for one in CAPTURES if one.collection == "a"]
    shown = [one for one in _pages(own) if (one.status_code or 0) < 300]
    scores = [SCORES[one.document_id] for one in shown if one.document_id in SCORES]
    relevance = found["relevance"]
    assert relevance["pages"] == len(scores)
    assert relevance["relevant"] == sum(score >= 0.5 for score in scores)
    assert sum(relevance["distribution"]["documents"][:5]) == sum(score < 0.5 for score in scores)
    assert relevance["mean"] == pytest.approx(sum(scores) / len(scores), abs=1e-4)
    last = relevance["harvest"][-1]
    assert (last["pages"], last["relevant"]) == (len(scores), relevance["relevant"])
    assert relevance["unscored"] == sum(
        one.document_id not in SCORES and one.record_type != "revisit" for one in shown
    )
    newest = _newest(own)
    assert found["rules"]["blacklisted"] == sum("examplf" in key for key in newest)
    assert found["rules"]["preferred"] == sum(
        key.endswith("/1") and "examplf" not in key for key in newest
    )
    assert found["rules"]["seeds"] == 1


def test_documents_without_scores_are_scored_when_asked(archive: Engine) -> None:
    question = RelevanceQuestion(
        _SPECIFICATION, ScoreTable(), lambda ids: {id: 0.75 for id in ids if id in SCORES}
    )
    relevance = comparison_json(compare(archive, "b", question=question))["a"]["relevance"]
    stored = RelevanceQuestion(_SPECIFICATION, ScoreTable((id, 0.75) for id in SCORES))
    expected = comparison_json(compare(archive, "b", question=stored))["a"]["relevance"]
    assert relevance == expected
    assert relevance["pages"] > 0
    assert relevance["unscored"] > 0


def test_revisits_of_url_lists_are_no_pages(engine: Engine) -> None:
    types = {"http://example.org/": "text/html", "http://example.org/sitemap.xml": "text/xml"}
    originals = [capture(url, "2010", content_type=kind) for url, kind in types.items()]
    revisits = [
        capture(one.url, "2011", digest=one.digest, record_type="revisit", collection="b")
        for one in originals
    ]
    engine.write(Batch(tuple(map(document, originals)), (*originals, *revisits)))
    engine.refresh()
    scores = ScoreTable((one.document_id, 0.75) for one in originals)
    question = RelevanceQuestion(_SPECIFICATION, scores)
    relevance = comparison_json(compare(engine, "b", question=question))["a"]["relevance"]
    assert (relevance["pages"], relevance["unscored"]) == (1, 0)


def test_quality_of_two_collections(archive: Engine) -> None:
    archive.quality_index().put(CHECKS)
    found = comparison_json(compare(archive, "a", "b"))
    newest: dict[str, dict[str, PlaybackScore]] = {"a": {}, "b": {}}
    missing = {}
    for side in "ab":
        own = [one for one in CHECKS if one.collection == side]
        counted = found[side]["quality"]
        assert counted["pages"] == len(own)
        assert counted["mean"] == pytest.approx(sum(one.score for one in own) / len(own), abs=1e-4)
        assert counted["distribution"]["pages"][9] == sum(one.score == 1 for one in own)
        kinds = Counter(kind for one in own for kind in {fault.kind for fault in one.faults})
        assert counted["faults"] == dict(sorted(kinds.items()))
        missing[side] = {key for one in own for key in one.resources}
        assert counted["missing"] == sum(len(one.resources) for one in own)
        assert counted["missing_resources"] == len(missing[side])
        for one in sorted(own, key=lambda one: one.timestamp):
            newest[side][one.urlkey] = one
    in_both = newest["a"].keys() & newest["b"].keys()
    changes = {key: newest["b"][key].score - newest["a"][key].score for key in in_both}
    told = found["quality"]
    assert told["both"] == len(in_both)
    assert told["worse"] == sum(change < 0 for change in changes.values())
    assert told["better"] == sum(change > 0 for change in changes.values())
    assert told["same"] == told["both"] - told["worse"] - told["better"]
    assert told["mean_change"] == pytest.approx(sum(changes.values()) / len(changes), abs=1e-4)
    overlap = _both(missing["a"], missing["b"])
    assert {name: told["missing"][name] for name in overlap} == overlap
    sizes = sorted(-change for change in changes.values() if change < 0)[::-1]
    assert [a - b for a, b in (page["scores"] for page in told["worst"])] == sizes[:20]
    assert all(b > a for a, b in (page["scores"] for page in told["best"]))


def test_collections_without_checks_have_no_quality(archive: Engine) -> None:
    archive.quality_index().put(CHECKS)
    assert compare(archive, "c", "a").quality is not None
    alone = RelevanceQuestion(_SPECIFICATION, ScoreTable(SCORES.items()))
    found = comparison_json(compare(archive, "c", question=alone))
    assert "quality" not in found
    assert "quality" not in found["a"]


def test_collections_that_are_none(archive: Engine) -> None:
    with pytest.raises(UsageError, match="there is no collection 'z'; there are: a, b, c"):
        compare(archive, "a", "z")
    with pytest.raises(UsageError, match="name two collections"):
        compare(archive, "a", "a")


def test_the_web_of_a_collection(archive: Engine) -> None:
    payloads = {one.document_id for one in CAPTURES if is_page(one)}
    expected = {}
    for one in sorted(CAPTURES, key=_order):
        succeeded = (one.status_code or 200) < 300
        if one.collection == "a" and succeeded and one.document_id in payloads:
            expected[one.urlkey] = one.timestamp
    web = archived_web(archive, "a")
    found = {page.capture.urlkey: page.timestamp for page in web.pages}
    assert found == expected
    assert [page.capture.urlkey for page in web.pages] == sorted(expected)
