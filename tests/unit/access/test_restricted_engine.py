"""An archive as seen by viewers, on the embedded engine."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.access.hidden_urls import HiddenError
from nwx.access.restricted_engine import (
    RestrictedEngines,
    check_document_shown,
    check_url_shown,
    restricted_to,
)
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Role, Scope, Viewer
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxLineForm, CdxSpan, KeysAtTime, exactly
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import EngineError
from nwx.keys import document_id, document_key
from nwx.model import Batch, Capture, Collapse, Dates, IndexName, Link, SourceFile
from nwx.query.question import Question
from tests.conformance.archive import capture, document

_A, _B, _C = "http://a.example/", "http://b.example/page", "http://c.example/"
_ALL = CdxSpan("", chr(0x10FFFF))
_FORM = CdxLineForm((0, 1, 2), bare_digests=False)

_FIRST = capture(_A, "2010", body="one", source_file="old.warc.gz")
_SECOND = capture(_A, "2012", body="one", record_type="revisit", source_file="new.warc.gz")
_LATER = capture(_A, "2020", body="two", status=404, source_file="new.warc.gz")
_PAGE = capture(_B, "2012", body="three", source_file="new.warc.gz")
_OTHER = capture(_C, "2015", body="three", collection="else", source_file="new.warc.gz")
_CAPTURES = (_FIRST, _SECOND, _LATER, _PAGE, _OTHER)


def _id(one: Capture) -> str:
    return document_id(document_key(one.url, one.digest))


def _dates(*captures: Capture) -> Dates:
    seen = tuple(sorted((one.timestamp, one.collection) for one in captures))
    return Dates(document_key(captures[0].url, captures[0].digest), seen)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Three URLs, one of them with two versions, the first of which has a revisit."""
    with EmbeddedEngine(tmp_path_factory.mktemp("archive") / "engine") as engine:
        engine.create()
        engine.write(
            Batch(
                documents=tuple(
                    document(one, f"title of {one.url}", "common words", links=(Link(_C, "c"),))
                    for one in (_FIRST, _LATER, _PAGE, _OTHER)
                ),
                captures=_CAPTURES,
                dates=(_dates(_FIRST, _SECOND), _dates(_LATER), _dates(_PAGE), _dates(_OTHER)),
                files=tuple(
                    SourceFile(one.collection, one.source_file, "/x", 1, "", 1, True)
                    for one in (_FIRST, _PAGE, _OTHER)
                ),
            )
        )
        engine.refresh()
        yield engine


@pytest.fixture(autouse=True)
def without_rules(archive: Engine) -> Iterator[None]:
    """Start each case without rules."""
    yield
    index = archive.access_index()
    index.remove([rule.id for rule in index.rules().rules], "test")


def _seen(archive: Engine, *rules: AccessRule, viewer: Viewer = EVERYBODY) -> Engine:
    archive.access_index().put(rules, "test")
    return restricted_to(archive, viewer)


def _rule(action: Action = Action.EXCLUDE, **scope: str) -> AccessRule:
    return AccessRule("", action, Scope(**scope))  # type: ignore[arg-type]


_EXCLUDE_A = replace(_rule(), scope=Scope(prefix="example,a)/"))
_EXCLUDE_OLD = replace(_rule(), scope=Scope(prefix="example,a)/", date_to="20111231235959"))


def _found(engine: Engine, **asked: object) -> dict[str, tuple[str, ...]]:
    question = Question(collapse=Collapse.NONE, **asked)  # type: ignore[arg-type]
    return {hit.id: hit.dates for hit in engine.search(question).hits}


def test_without_rules_the_engine_itself_is_seen(archive: Engine) -> None:
    assert restricted_to(archive, EVERYBODY) is archive
    curator = Viewer(role=Role.CURATOR)
    assert _seen(archive, _EXCLUDE_A, viewer=curator) is archive


def test_excluded_urls_are_looked_up_as_if_never_archived(
    archive: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading excluded captures and filtering them would take longer."""
    seen, read = _seen(archive, _EXCLUDE_A), []
    for name in ("captures", "cdx_rows"):
        whole = getattr(archive, name)
        monkeypatch.setattr(
            archive,
            name,
            lambda *asked, all=whole: (read.append(one) or one for one in all(*asked)),
        )
    span = exactly(_FIRST.urlkey)
    for found in (
        seen.captures(_FIRST.urlkey),
        seen.cdx_rows(span),
        seen.cdx_rows(replace(span, newest_first=True)),
        seen.cdx_rows(exactly(_FIRST.urlkey, "2011")),
        seen.cdx_rows(exactly(_FIRST.urlkey, until="2011")),
    ):
        assert list(found) == []
    check_url_shown(seen, _A)
    assert read == []
    assert list(seen.captures(_PAGE.urlkey)) == [_PAGE]


def test_captures_of_an_excluded_url_are_nowhere(archive: Engine) -> None:
    seen = _seen(archive, _EXCLUDE_A)
    key = _FIRST.urlkey
    assert list(seen.captures(key)) == []
    assert list(seen.captures("", chr(0x10FFFF))) == [_PAGE, _OTHER]
    assert list(seen.captures_by_digest(_FIRST.digest)) == []
    assert seen.statuses([key, _PAGE.urlkey]) == {_PAGE.urlkey: 200}
    assert seen.captures_near([KeysAtTime((key, _PAGE.urlkey), "20100101000000")], 5) == [[_PAGE]]
    assert not seen.has_keys(["example,a)"])
    assert seen.has_keys(["example,"])
    assert [one for one, _ in seen.captures_since("")] == [_PAGE, _OTHER]
    assert seen.collections() == ["else", "web"]


def test_cdx_of_an_excluded_url_is_as_if_it_was_not_there(archive: Engine) -> None:
    seen = _seen(archive, _EXCLUDE_A)
    assert [row.url for row in seen.cdx_rows(_ALL)] == [_B, _C]
    blocks = seen.cdx_blocks(_ALL, _FORM)
    assert blocks is not None
    assert [row.url for block in blocks for row in block.rows] == [_B, _C]
    assert [row.url for row in seen.cdx_rows(replace(_ALL, newest_first=True))] == [_C, _B]
    assert list(seen.cdx_rows(exactly(_FIRST.urlkey))) == []
    assert list(seen.cdx_marks(_ALL, 1)) == [
        f"{one.urlkey} {one.timestamp}" for one in (_PAGE, _OTHER)
    ]
    untouched = seen.cdx_blocks(exactly(_PAGE.urlkey), _FORM)
    assert untouched is not None
    assert [block.number for block in untouched] == [1]


def test_documents_of_an_excluded_url_are_nowhere(archive: Engine) -> None:
    seen = _seen(archive, _EXCLUDE_A)
    ids = [_id(one) for one in (_FIRST, _LATER, _PAGE)]
    assert list(seen.known(ids)) == [_id(_PAGE)]
    assert list(seen.documents(ids)) == [_id(_PAGE)]
    texts, whole = seen.texts(ids), seen.documents(ids)[_id(_PAGE)]
    assert list(texts) == [_id(_PAGE)]
    assert whole.extract.links == (Link(_C, "c"),)
    assert texts[_id(_PAGE)].extract == replace(whole.extract, links=())
    assert not texts[_id(_PAGE)].capture.redirect_to
    assert list(seen.dates(ids)) == [_id(_PAGE)]
    assert set(_found(seen, query="common")) == {_id(_PAGE), _id(_OTHER)}
    assert set(_found(seen)) == {_id(_PAGE), _id(_OTHER)}
    assert {hit.url for hit in seen.scroll(Question("common"))} == {_B, _C}
    result = seen.search(Question("common", facets=("host", "year")))
    assert (result.total.value, result.documents.value) == (2, 2)
    assert {one.value: one.count for one in result.facets["host"]} == {
        "b.example": 1,
        "c.example": 1,
    }
    assert [one.value for one in result.facets["year"]] == ["2012", "2015"]
    assert set(_found(seen, query="common AND NOT date:[2014 TO 2016]")) == {_id(_PAGE)}


def test_counts_and_streams_leave_out_what_is_excluded(archive: Engine) -> None:
    seen = _seen(archive, _EXCLUDE_A)
    counts = {IndexName.DOCUMENTS: 2, IndexName.CAPTURES: 2, IndexName.DATES: 2}
    for index, number in counts.items():
        assert seen.count(index) == number
        assert len(list(seen.scan(index))) == number
        assert seen.stats()[index].entries == number
    rows = [row for some in seen.facet_store().capture_rows() for row in some.rows]
    assert [row[1] for row in rows] == [_B, _C]
    assert seen.facet_store().stamp() != archive.facet_store().stamp()


def test_columns_of_captures_leave_out_what_is_excluded_and_redirects_to_it(
    tmp_path: Path,
) -> None:
    leading = replace(_PAGE, redirect_to=_A, via=_C)
    fields = ("url", "status_code", "redirect_to", "via")
    with EmbeddedEngine(tmp_path / "engine") as engine:
        engine.create()
        engine.write(Batch(captures=(_FIRST, leading)))
        engine.refresh()
        whole = list(engine.capture_columns(fields))
        assert [part["redirect_to"] for part in whole] == [["", _A]]
        (part,) = _seen(engine, _EXCLUDE_A).capture_columns(fields)
    assert part == {"url": [_B], "status_code": ["200"], "redirect_to": [""], "via": [_C]}


def test_hidden_dates_are_left_out_of_documents_that_are_shown(archive: Engine) -> None:
    seen = _seen(archive, _EXCLUDE_OLD)
    id = _id(_FIRST)
    assert seen.dates([id])[id].seen == ((_SECOND.timestamp, "web"),)
    assert _found(seen)[id] == (_SECOND.timestamp,)
    assert id not in _found(seen, date_to="2011")
    assert seen.documents([id])[id].capture == _SECOND
    (entry,) = [one for one in seen.scan(IndexName.DATES) if one["id"] == id]
    assert entry["dates"] == [_SECOND.timestamp]
    (entry,) = [one for one in seen.scan(IndexName.DOCUMENTS) if one["id"] == id]
    assert entry["source_file"] == "new.warc.gz"


def test_a_rule_about_a_file_hides_what_is_in_it(archive: Engine) -> None:
    seen = _seen(archive, _rule(source_file="old.warc.gz"))
    assert _found(seen)[_id(_FIRST)] == (_SECOND.timestamp,)
    assert "old.warc.gz" not in {file.name for file in seen.files()}
    assert len(seen.files()) == 2


def test_an_embargo_of_the_whole_archive_hides_all_later_dates(archive: Engine) -> None:
    embargo = AccessRule("", Action.BLOCK, Scope(date_from="20120101000000"))
    allowed = AccessRule("", Action.ALLOW, Scope(prefix="example,b)/"))
    seen = _seen(archive, embargo, allowed)
    assert _found(seen) == {_id(_FIRST): (_FIRST.timestamp,), _id(_PAGE): (_PAGE.timestamp,)}
    assert seen.count(IndexName.CAPTURES) == 2
    assert seen.count(IndexName.DATES) == 2
    assert seen.collections() == ["web"]


def test_a_collection_that_is_excluded_has_no_name(archive: Engine) -> None:
    seen = _seen(archive, _rule(collection="else"))
    assert seen.collections() == ["web"]
    assert _id(_OTHER) not in _found(seen)


def test_what_comes_later_is_hidden_at_once(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "engine") as archive:
        archive.write(Batch((document(_PAGE, "b"),), (_PAGE,), (_dates(_PAGE),)))
        archive.refresh()
        seen = _seen(archive, _EXCLUDE_A)
        assert set(_found(seen)) == {_id(_PAGE)}
        archive.write(Batch((document(_FIRST, "a"),), (_FIRST,), (_dates(_FIRST),)))
        archive.refresh()
        assert set(_found(seen)) == {_id(_PAGE)}
        # Another process continues from the cached state.
        assert set(_found(restricted_to(archive, EVERYBODY))) == {_id(_PAGE)}
        assert seen.count(IndexName.CAPTURES) == 1


def test_who_asks_for_what_is_blocked_is_told_so(archive: Engine) -> None:
    blocked = replace(_EXCLUDE_A, action=Action.BLOCK, reason="on request")
    seen = _seen(archive, blocked)
    with pytest.raises(HiddenError, match="may not be shown: it is blocked \\(on request\\)"):
        check_document_shown(seen, _id(_FIRST))
    with pytest.raises(HiddenError):
        check_url_shown(seen, _A, "2010")
    check_url_shown(seen, _B)
    check_document_shown(seen, _id(_PAGE))
    check_document_shown(seen, "0" * 32)
    assert set(_found(seen)) == {_id(_PAGE), _id(_OTHER)}


def test_nothing_is_said_of_what_is_excluded(archive: Engine) -> None:
    seen = _seen(archive, _EXCLUDE_A)
    check_document_shown(seen, _id(_FIRST))
    check_url_shown(seen, _A)


def test_viewers_of_one_class_share_an_engine_until_rules_change(archive: Engine) -> None:
    engines = RestrictedEngines(archive)
    assert engines.for_viewer(EVERYBODY) is archive
    archive.access_index().put([_EXCLUDE_A], "test")
    first = engines.for_viewer(EVERYBODY)
    assert first is engines.for_viewer(Viewer("192.0.2.1"))
    assert first is not archive
    archive.access_index().put([_rule(collection="else")], "test")
    assert engines.for_viewer(EVERYBODY) is not first


def test_who_sees_a_part_does_not_write(archive: Engine) -> None:
    seen = _seen(archive, _EXCLUDE_A)
    for write in (
        seen.create,
        seen.staging,
        lambda: seen.write(Batch()),
        lambda: seen.load_captures([]),
        lambda: seen.unload_captures([]),
        lambda: seen.append_dates([]),
        lambda: seen.delete(IndexName.DOCUMENTS, []),
    ):
        with pytest.raises(EngineError, match="read-only"):
            write()
