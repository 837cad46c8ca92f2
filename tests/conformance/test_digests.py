"""Captures are found by digest, those with a payload first, the newest first."""

from dataclasses import replace
from io import BytesIO
from itertools import islice

from nwx.access.restricted_engine import restricted_to
from nwx.access.rule_requests import load_rules, url_decisions
from nwx.engine.access.aclj import digest_scope, scope_of
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action
from nwx.engine.base import Engine
from nwx.maintenance.agreement import check
from nwx.model import Batch, IndexName
from nwx.query.question import Question
from nwx.values.timestamps import Period
from tests.conformance.archive import batch, capture, page, sha1
from tests.conformance.asking import ask

SAME = sha1("the same payload")
SHA256 = "sha256:" + "0123456789abcdef" * 4
CAPTURES = [
    capture("http://example.org/a", "2010", digest=SAME),
    capture("http://example.org/b", "2012", digest=SAME, source_file="b.warc.gz"),
    capture("http://example.org/a", "2014", digest=SAME, record_type="revisit"),
    capture("http://example.net/c", "2012", digest=SAME, collection="other", offset=9),
    capture("http://example.net/d", "2012", digest=SAME, offset=10),
    capture("http://example.net/e", "2011", digest=SAME, record_type="resource"),
    capture("http://example.net/", "2010", body="another"),
    capture("http://example.net/s", "2010", digest=SHA256),
    capture("http://example.net/n", "2010", digest=""),
]
SHA256_OF_TWO = f"sha256:{'c3' * 32}"
# The same suffix, which may be all that an index stores.
TWIN = "sha1:" + "A" * 23 + SAME[-9:]
BATCHES = [Batch(captures=(*CAPTURES, capture("http://example.net/t", "2013", digest=TWIN)))]


def test_the_newest_comes_first_and_revisits_hold_nothing(archive: Engine) -> None:
    found = list(archive.captures_by_digest(SAME))
    assert found == [CAPTURES[place] for place in (3, 4, 1, 5, 0)]


def test_those_of_one_url(archive: Engine) -> None:
    found = list(archive.captures_by_digest(SAME, "org,example)/a"))
    assert found == [CAPTURES[0]]
    assert list(archive.captures_by_digest(SAME, "org,example)/nowhere")) == []
    assert list(archive.captures_by_digest(sha1("never met"), "org,example)/a")) == []


def test_other_digests(archive: Engine) -> None:
    assert [one.url for one in archive.captures_by_digest(SHA256)] == ["http://example.net/s"]
    assert [one.url for one in archive.captures_by_digest(TWIN)] == ["http://example.net/t"]
    assert list(archive.captures_by_digest(sha1("never met"))) == []


def test_a_digest_of_very_many_captures(engine: Engine) -> None:
    many = [
        capture(f"http://example.org/{n}", f"20{n % 20:02}", digest=SAME, offset=n)
        for n in range(2_300)
    ]
    engine.write(Batch(captures=tuple(many)))
    engine.refresh()
    wanted = sorted(many, key=lambda one: (-int(one.timestamp), one.source_file_offset))
    assert list(engine.captures_by_digest(SAME)) == wanted
    assert list(islice(engine.captures_by_digest(SAME), 3)) == wanted[:3]


def test_captures_written_meanwhile_repeat_and_displace_none(engine: Engine) -> None:
    many = [capture(f"http://example.org/{n}", "2010", digest=SAME, offset=n) for n in range(60)]
    engine.write(Batch(captures=tuple(many)))
    engine.refresh()
    found = engine.captures_by_digest(SAME)
    first = list(islice(found, 20))
    engine.write(Batch(captures=(capture("http://example.org/", "2024", digest=SAME),)))
    engine.refresh()
    assert [one for one in (*first, *found) if one in many] == many


def test_a_url_of_very_many_captures(engine: Engine) -> None:
    url = "http://example.org/" + "x" * 9_000
    many = [capture(url, f"20{n % 20:02}", digest=SAME, offset=n) for n in range(60)]
    engine.write(Batch(captures=tuple(many)))
    engine.refresh()
    wanted = sorted(many, key=lambda one: (-int(one.timestamp), one.source_file_offset))
    assert list(engine.captures_by_digest(SAME, many[0].urlkey)) == wanted


FURTHER = "sha256:" + "a1" * 32


def test_a_further_digest_finds_the_captures_of_all_that_are_the_same(engine: Engine) -> None:
    engine.write(BATCHES[0])
    engine.refresh()
    own, known = engine.digests, CAPTURES[7]
    assert not own.is_kept()
    assert own.add([(FURTHER, SAME), (FURTHER, TWIN), (SAME, known.digest)]) == 2
    assert own.add([(FURTHER, SAME)]) == 0
    found = list(engine.captures_by_digest(FURTHER))
    assert [one.timestamp[:4] for one in found] == ["2013", "2012", "2012", "2012", "2011", "2010"]
    assert found[1:] == [CAPTURES[place] for place in (3, 4, 1, 5, 0)]
    assert list(engine.captures_by_digest(FURTHER, "org,example)/a")) == [CAPTURES[0]]
    both = list(engine.captures_by_digest(SAME))
    assert both[:4] == [CAPTURES[place] for place in (3, 4, 1, 5)]
    assert {one.url for one in both[4:]} == {"http://example.org/a", known.url}
    assert engine.entry_store(IndexName.DIGESTS).count() == 2
    assert sorted(own.pairs()) == sorted([(SAME, known.digest), (FURTHER, SAME), (FURTHER, TWIN)])


def test_digests_of_purged_captures_are_removed(engine: Engine) -> None:
    own = engine.digests
    own.add([(FURTHER, SAME), (FURTHER, TWIN), (sha1("other"), SHA256)])
    assert own.remove([TWIN, SHA256]) == 2
    assert list(own.pairs()) == [(FURTHER, SAME)]
    assert own.same(sha1("other")) == (sha1("other"),)


def test_the_setting_holds_until_it_is_changed(engine: Engine) -> None:
    for wanted in (False, True, True, False):
        engine.digests.keep(wanted=wanted)
        assert engine.digests.is_kept() is wanted


def test_hidden_captures_are_not_found_by_a_further_digest(engine: Engine) -> None:
    engine.write(BATCHES[0])
    engine.refresh()
    engine.digests.add([(FURTHER, SAME)])
    with_host = AccessRule("", Action.EXCLUDE, scope_of("example.net"), reason="asked")
    engine.access_index().put([with_host], "")
    shown = restricted_to(engine, EVERYBODY)
    found = list(shown.captures_by_digest(FURTHER))
    assert found == [CAPTURES[1], CAPTURES[0]]
    assert list(shown.scan(IndexName.DIGESTS)) == []
    engine.access_index().put([replace(with_host, scope=digest_scope(SAME))], "")
    assert list(restricted_to(engine, EVERYBODY).captures_by_digest(FURTHER)) == []


def test_rules_of_a_file_and_decisions_find_a_payload_by_a_further_digest(engine: Engine) -> None:
    engine.write(BATCHES[0])
    engine.refresh()
    engine.digests.add([(FURTHER, SAME), (SHA256_OF_TWO, SAME), (SHA256_OF_TWO, TWIN)])
    lines = "".join(
        f'{{"action": "exclude", "digest": "{one}"}}\n' for one in (FURTHER, SHA256_OF_TWO)
    )
    loaded = load_rules(engine, BytesIO(lines.encode()), "asked", None, "")
    assert (loaded.rules, [one.line for one in loaded.problems]) == (1, [2])
    assert list(restricted_to(engine, EVERYBODY).captures_by_digest(FURTHER)) == []
    url = CAPTURES[0].url
    said = url_decisions(engine, url, EVERYBODY, "", with_captures=False, digest=FURTHER)
    assert said.decision.action is Action.EXCLUDE


def test_damaged_pairs_are_found(engine: Engine) -> None:
    engine.write(BATCHES[0])
    store = engine.entry_store(IndexName.DIGESTS)
    engine.digests.add([(FURTHER, SAME)])
    damaged = [("sha256:a1", [SAME]), (sha1("a"), [SAME]), (sha1("b"), []), (sha1("c"), ["x"])]
    store.put([{"id": id, "digests": digests} for id, digests in damaged])
    engine.refresh()
    found = [one for one in check(engine) if one.kind == "digests"]
    assert sorted(one.id for one in found) == sorted(id for id, _ in damaged)


def test_a_search_by_a_further_digest_finds_the_documents(engine: Engine) -> None:
    shown, other = (
        page("http://a.example/one", "2010", "one"),
        page("http://b.example/two", "2011", "two"),
    )
    engine.write(batch([shown, other]))
    engine.refresh()
    assert ask(engine, f'digest:"{FURTHER}"') == set()
    engine.digests.add([(FURTHER, shown.capture.digest)])
    bare = FURTHER.partition(":")[2].upper()
    for query in (f'digest:"{FURTHER}"', f"hash:{bare}", f"one AND (two OR digest:{bare})"):
        assert ask(engine, query) == {"one"}, query
    assert ask(engine, f"* -digest:{bare}") == {"two"}
    named = Question(f"digest:{bare}")
    assert engine.totals([named]) == [1]
    assert [one.url for one in engine.scroll(named)] == ["http://a.example/one"]
    assert sum(one.captures for one in engine.trends([named], Period.YEAR)[0]) == 1
