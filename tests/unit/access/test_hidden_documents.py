"""Hidden documents, computed from scratch and updated from other rules."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.access.hidden_documents import HiddenDocumentSet
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import EngineError
from nwx.keys import document_key
from nwx.model import Batch, Capture, Dates
from nwx.query.question import HiddenDocuments, Question
from tests.conformance.archive import capture, document
from tests.unit.access.archives import archive_of_pages, hiding

_URLS = [f"http://{host}.example/{path}" for host in "abc" for path in ("", "x", "x/y", "z?q=1")]
_SCOPES = (
    Scope(prefix="example,a)/"),
    Scope(prefix="example,a)/x/"),
    Scope(prefix="example,b)/x", is_exact=True),
    Scope(prefix="example,b"),
    Scope(prefix="example,b)/", date_from="20120101000000"),
    Scope(prefix="example,c)/z?q=1", is_exact=True, collection="else"),
)
_BROAD = Scope(date_from="20180101000000")


def _captures(chance: random.Random) -> list[Capture]:
    return [
        capture(
            chance.choice(_URLS),
            str(chance.randrange(2008, 2022)),
            body=chance.choice("pqr"),
            collection=chance.choice(("web", "else")),
            offset=place,
        )
        for place in range(120)
    ]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An archive of random captures."""
    with EmbeddedEngine(tmp_path_factory.mktemp("archive") / "engine") as engine:
        captures = _captures(random.Random(1))
        dates: dict[str, set[tuple[str, str]]] = {}
        for one in captures:
            key = document_key(one.url, one.digest)
            dates.setdefault(key, set()).add((one.timestamp, one.collection))
        firsts = {(one.url, one.digest): document(one) for one in reversed(captures)}
        known = tuple(Dates(key, tuple(sorted(seen))) for key, seen in dates.items())
        engine.write(Batch(tuple(firsts.values()), tuple(captures), known))
        engine.refresh()
        yield engine


def _shown(archive: Engine, hidden: HiddenDocuments) -> dict[str, set[tuple[str, str]]]:
    ids = sorted({one.document_id for one, _ in archive.captures_since("")})
    return {
        id: {one for one in dates.seen if not hidden.hides_date(id, *one)}
        for id, dates in archive.dates(ids).items()
    }


@pytest.mark.parametrize("broad", [False, True], ids=["rules about URLs", "an embargo too"])
def test_what_goes_on_from_other_rules_is_what_is_found_anew(archive: Engine, broad: bool) -> None:
    chance = random.Random(2)
    before: HiddenDocumentSet | None = None
    chosen: set[int] = {0}
    for version in range(12):
        chosen ^= {chance.randrange(len(_SCOPES))}
        actions = [Action.ALLOW if n == 1 else Action.BLOCK for n in range(len(_SCOPES))]
        rules = [AccessRule(str(n), actions[n], _SCOPES[n]) for n in sorted(chosen)]
        rules += [AccessRule("broad", Action.BLOCK, _BROAD)] if broad else []
        decisions = AccessRules(rules, str(version)).for_viewer(EVERYBODY)
        following = HiddenDocumentSet(archive, decisions, before=before)
        anew = HiddenDocumentSet(archive, decisions)
        assert _shown(archive, following.current()) == _shown(archive, anew.current())
        assert following.captures() == anew.captures()
        for name in {(one.collection, one.source_file) for one, _ in archive.captures_since("")}:
            assert following.file_captures(*name) == anew.file_captures(*name)
        visible = {
            (one.timestamp, one.collection, one.document_id)
            for one, _ in archive.captures_since("")
            if not decisions.hides(one)
        }
        assert visible == {
            (*date, id) for id, dates in _shown(archive, anew.current()).items() for date in dates
        }
        before = following


def test_a_rule_about_a_url_does_not_have_all_captures_read(
    archive: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        AccessRules([AccessRule(str(n), Action.BLOCK, _SCOPES[n]) for n in some], str(some))
        for some in ([0], [0, 2])
    )
    before = HiddenDocumentSet(archive, first.for_viewer(EVERYBODY))
    before.current()
    monkeypatch.setattr(HiddenDocumentSet, "_all_captures", None)
    following = HiddenDocumentSet(archive, second.for_viewer(EVERYBODY), before=before)
    assert following.current().documents > before.current().documents


@pytest.mark.parametrize("action", [Action.EXCLUDE, Action.ALLOW])
def test_collections_of_which_only_dates_are_known_are_hidden(
    tmp_path: Path, action: Action
) -> None:
    rules = [AccessRule("1", action, Scope(collection="shown" if action == "allow" else "told"))]
    if action is Action.ALLOW:
        rules.append(AccessRule("2", Action.EXCLUDE, Scope()))
    decisions = AccessRules(rules).for_viewer(EVERYBODY)
    with archive_of_pages(tmp_path / "archive") as archive:
        (one, *_) = archive.captures("test,shown)/1")
        key = document_key(one.url, one.digest)
        archive.append_dates([Dates(key, (("20190101000000", "told"),))])
        archive.refresh()
        hidden = HiddenDocumentSet(archive, decisions).current()
        found = archive.search(Question("year:2019", hidden=hidden))
        assert found.documents.value == 0


def test_a_damaged_state_is_not_used(tmp_path: Path) -> None:
    with archive_of_pages(tmp_path / "archive") as archive:
        access, decisions = archive.access_index(), hiding()
        access.put(decisions.restricting, "test")

        def hidden() -> HiddenDocuments:
            return HiddenDocumentSet(archive, decisions, keeps_state=True).current()

        found = hidden()
        (name,) = access.states()
        stored = access.state(name)
        assert stored
        id = next(iter(found.documents)).encode()
        access.put_state(name, stored.replace(id, b"0" * len(id)))
        assert hidden().documents == found.documents
        assert access.state(name) == stored


def test_a_reader_stores_the_state_for_the_next_process(tmp_path: Path) -> None:
    with archive_of_pages(tmp_path / "archive") as archive:
        decisions = hiding()
        archive.access_index().put(decisions.restricting, "test")
    with EmbeddedEngine(tmp_path / "archive", read_only=True) as reader:
        access = reader.access_index()
        found = HiddenDocumentSet(reader, decisions, keeps_state=True).current()
        (name,) = access.states()
        with pytest.raises(EngineError, match="reading only"):
            access.put_state("other", b"1")
    with EmbeddedEngine(tmp_path / "archive", read_only=True) as reader:
        following = HiddenDocumentSet(reader, decisions, keeps_state=True)
        assert following.current() == found
        assert reader.access_index().states() == [name]
