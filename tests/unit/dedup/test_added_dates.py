"""Dates of lists are added to an archive, once."""

from pathlib import Path

import pytest

from nwx.access.restricted.engine import RestrictedEngines
from nwx.cdx.inputs import CdxSource
from nwx.dedup.added_dates import DatesLists, add_dates, build_dates, dates_report_json, orphans
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.open import open_engine
from nwx.errors import CdxError
from nwx.query.question import Question
from nwx.settings import Settings
from tests.unit.access.restricted.archives import archive_of_pages

SHA1 = "sha1:HWPS2CRKHHSMHYFG5DRL2OFUXG4KJJ6B"
LINES = f"2010 {SHA1} http://a/\n2011 {SHA1} http://a/\nbroken\n2012 {SHA1} http://b/\n"


def lists(tmp_path: Path, *, strict: bool = False) -> DatesLists:
    (tmp_path / "list").write_text(LINES)
    return DatesLists((CdxSource(str(tmp_path / "list"), held=True),), "web", strict=strict)


def test_dates_are_added_once_and_keys_without_documents_counted(tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
        first = dates_report_json(add_dates(engine, lists(tmp_path)))
        again = dates_report_json(add_dates(engine, lists(tmp_path)))
        keys = [one.key for one in orphans(engine)]
    assert (first["lines"], first["keys"], first["dates_new"]) == (3, 2, 3)
    assert (again["dates_new"], again["dates_known"]) == (0, 3)
    assert first["keys_without_document"] == 2
    assert first["problems"][0]["line"] == 3
    assert sorted(keys) == [f"http://a/ {SHA1}", f"http://b/ {SHA1}"]


def test_a_strict_list_adds_nothing_when_a_line_is_broken(tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
        with pytest.raises(CdxError, match="list:3"):
            add_dates(engine, lists(tmp_path, strict=True))
        assert list(orphans(engine)) == []


def test_an_index_of_documents_only_leaves_other_keys_out(tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
        report = build_dates(engine, (), "all", lists(tmp_path), documents_only=True)
    assert (report.keys, report.left_out, report.orphans) == (0, 2, 2)


def test_added_dates_that_rules_hide_are_hidden_at_once(tmp_path: Path) -> None:
    scope = Scope(prefix="test,shown)/", date_from="20150101000000")
    with archive_of_pages(tmp_path / "archive") as engine:
        engine.access_index().put([AccessRule("", Action.EXCLUDE, scope)], "eva")
        engines = RestrictedEngines(engine)
        (capture, *_) = engine.captures("test,shown)/1")
        assert engines.for_viewer(EVERYBODY).search(Question("year:2019")).documents.value == 0
        line = f"20190101000000 {capture.digest} {capture.url}\n"
        (tmp_path / "list").write_text(line)
        sources = (CdxSource(str(tmp_path / "list"), held=True),)
        assert add_dates(engine, DatesLists(sources, "web")).new == 1
        # Another rule, from which little differs, does not make it forgotten.
        further = AccessRule("", Action.EXCLUDE, Scope(prefix="test,hidden)/"))
        engine.access_index().put([further], "eva")
        assert engine.search(Question("year:2019")).documents.value == 1
        assert engines.for_viewer(EVERYBODY).search(Question("year:2019")).documents.value == 0
