"""The page of repairs."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.quality_index import Fault
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.model import Batch, Link
from nwx.values.render_names import FaultKind
from nwx.values.urlkeys import urlkey
from nwx.values.urls import IMG, STYLESHEET
from tests.conformance.archive import capture
from tests.links import page
from tests.web.checked_archive import score_of
from webapp import create_app

SHEET, PICTURE = "http://cdn.test/s.css", "http://x.test/i.png?a=<b>&c='"
SCRIPT = "http://x.test/s.js"


def write_pages(engine: Engine) -> None:
    """Store three pages that lack a style sheet, and some others."""
    engine.create()
    for number in range(3):
        links = [Link(SHEET, "", STYLESHEET)]
        links += [Link(PICTURE, "", IMG)] if number else []
        engine.write(page(f"http://x.test/{number}", links, [("2010", "web")]))
    engine.refresh()


def check_page(engine: Engine) -> None:
    """Store a check of the first page that reports a missing script."""
    (of,) = engine.captures("test,x)/0")
    fault = Fault(FaultKind.MISSING, SCRIPT)
    engine.quality_index().put(
        [score_of(of, 0.5, faults=(fault,), faults_total=1, resources=(urlkey(SCRIPT),))]
    )


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        write_pages(engine)
        yield engine


@pytest.fixture
def client(archive: Engine, tmp_path: Path) -> FlaskClient:
    """A client of the archive with inverted links."""
    reopen = partial(EmbeddedEngine, tmp_path / "archive", read_only=True)
    invert_links(archive, reopen, InlinkBuildOptions(workers=1))
    return create_app(archive).test_client()


def listed(client: FlaskClient, question: str = "") -> Any:
    return client.get(f"/quality/repairs/list.json{question}").json


def test_the_page_follows_links_checks_and_captures(client: FlaskClient, archive: Engine) -> None:
    shown = client.get("/quality/repairs").text
    assert "<strong>3</strong> pages lack something, <strong>2</strong> resources" in shown
    assert shown.index("cdn.test/s.css") < shown.index("x.test/i.png")
    assert "<b>&c=" not in shown
    check_page(archive)
    assert "<strong>3</strong> resources are missing" in client.get("/quality/repairs").text
    archive.write(Batch(captures=(capture(SHEET, "2012", offset=900),)))
    archive.refresh()
    shown = client.get("/quality/repairs").text
    assert "cdn.test/s.css" not in shown
    changed = "The archive has changed since links were inverted"
    assert changed not in shown
    archive.write(page("http://x.test/new", [], [("2013", "web")]))
    archive.refresh()
    assert changed in client.get("/quality/repairs").text
    assert "Nothing is missing" not in client.get("/quality/repairs?page=2").text


def test_files(client: FlaskClient, archive: Engine) -> None:
    check_page(archive)
    found = listed(client)
    assert (found["pages"], found["resources"], found["checked"]) == (3, 3, 1)
    assert [(one["url"], one["pages"], one["whole"]) for one in found["repairs"]] == [
        (SHEET, 3, 0),
        (PICTURE, 2, 2),
        (SCRIPT, 1, 1),
    ]
    lines = client.get("/quality/repairs/list.csv").text.splitlines()
    assert lines[0] == "url,kind,pages,whole,checked,status,original,verdict,note,reviewer"
    assert lines[3] == f"{SCRIPT},script,1,1,1,,,,,"
    seeds = client.get("/quality/repairs/list.txt?kind=stylesheet")
    assert (seeds.mimetype, seeds.text) == ("text/plain", f"{SHEET}\n")
    assert client.get("/quality/repairs/list.xml").status_code == 404


def test_filters_are_those_of_the_form(client: FlaskClient) -> None:
    assert [one["url"] for one in listed(client, "?host=cdn.test")["repairs"]] == [SHEET]
    assert listed(client, "?site=nowhere.test")["repairs"] == []
    assert "No such resource is missing" in client.get("/quality/repairs?site=y.test").text
    assert 'value="x.test"' in client.get("/quality/repairs?site=x.test").text
    for question in ("kind=a", "kind=colour", "from=yesterday", "page=0"):
        assert client.get(f"/quality/repairs?{question}").status_code == 400


def test_archives_of_which_little_is_known(archive: Engine) -> None:
    client = create_app(archive).test_client()
    assert "Nothing is known about missing resources yet" in client.get("/quality/repairs").text
    check_page(archive)
    shown = client.get("/quality/repairs").text
    assert "Links were not inverted" in shown
    elsewhere = client.get("/quality/repairs?site=y.test").text
    assert "No such resource is missing" in elsewhere
    assert 'value="y.test"' in elsewhere
    assert SCRIPT in shown
