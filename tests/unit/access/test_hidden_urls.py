"""URLs that are completely hidden."""

from pathlib import Path

import pytest

from nwx.access import hidden_urls
from nwx.access.restricted_engine import RestrictedEngine
from nwx.engine.access.rules import Scope
from nwx.model import Link
from tests.conformance.archive import batch, page
from tests.unit.access.archives import HIDDEN, PAGES, SHOWN, archive_of_pages, hiding

_FIRST = PAGES[f"{SHOWN}1"].capture


@pytest.mark.parametrize("many", [0, 2_000])
@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(prefix="test,hidden)/"), {f"{HIDDEN}1", f"{HIDDEN}never"}),
        (Scope(prefix="test,hidden)/1", is_exact=True), {f"{HIDDEN}1"}),
        (Scope(digest=_FIRST.digest), {f"{SHOWN}1"}),
        (Scope(collection="web"), {f"{SHOWN}1", f"{SHOWN}2", f"{HIDDEN}1"}),
        (Scope(collection="other"), set()),
        (Scope(prefix="test,shown)/", date_to="20091231235959"), set()),
    ],
)
def test_a_url_is_hidden_where_all_its_captures_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: Scope, expected: set[str], many: int
) -> None:
    monkeypatch.setattr(hidden_urls, "_MANY", many)
    asked = {f"{SHOWN}1", f"{SHOWN}2", f"{HIDDEN}1", f"{HIDDEN}never", "no url"}
    with archive_of_pages(tmp_path / "archive") as engine:
        assert RestrictedEngine(engine, hiding(scope=scope)).hidden_urls(asked) == expected


def test_a_url_with_a_visible_capture_is_shown(tmp_path: Path) -> None:
    with archive_of_pages(tmp_path / "archive") as engine:
        engine.write(batch([page(f"{SHOWN}1", "2012", "another text")]))
        engine.refresh()
        shown = RestrictedEngine(engine, hiding(scope=Scope(digest=_FIRST.digest)))
        assert shown.hidden_urls([f"{SHOWN}1"]) == set()
        many = [
            page(f"{SHOWN}1", f"20{year}{month:02}") for year in (13, 14) for month in range(1, 13)
        ]
        engine.write(batch(many))
        engine.refresh()
        late = Scope(prefix="test,shown)/1", date_to="20131231235959")
        assert RestrictedEngine(engine, hiding(scope=late)).hidden_urls([f"{SHOWN}1"]) == set()


def test_documents_link_and_redirect_to_no_hidden_url(tmp_path: Path) -> None:
    links = (Link(f"{HIDDEN}1", "planted"), Link("http://other.test/", "other"))
    made = page(f"{SHOWN}3", "2010", "planted is a word", links=links, redirect_to=f"{HIDDEN}2")
    with archive_of_pages(tmp_path / "archive") as engine:
        engine.write(batch([made]))
        engine.refresh()
        id = made.capture.document_id
        found = RestrictedEngine(engine, hiding()).documents([id])[id]
        assert [one.url for one in found.extract.links] == ["http://other.test/"]
        assert found.capture.redirect_to == ""
        assert found.extract.content == "planted is a word"
        assert engine.documents([id])[id].capture.redirect_to == f"{HIDDEN}2"
