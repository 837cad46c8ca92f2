"""The page of hosts."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

import nwx
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.model import Batch
from tests.conformance.archive import capture
from tests.web.html import Page
from webapp import create_app

COUNTS = {"a.example": 3, "b.example": 1, "c.example": 2}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        captures = [
            capture(f"http://{host}/{number}", f"201{number}0305000000")
            for host, count in COUNTS.items()
            for number in range(count)
        ]
        captures.append(capture("http://a.example/?x=<b>", "99990101000000"))
        engine.write(Batch(captures=tuple(captures)))
        engine.refresh()
        yield engine


@pytest.fixture
def client(engine: Engine) -> FlaskClient:
    return create_app(engine).test_client()


def _names(client: FlaskClient, address: str) -> list[str]:
    answer = client.get(address)
    page = Page(answer.text)
    assert not page.faults
    return [one.text for one in page.elements if one.tag == "a" and "tbody" in one.parents]


def test_hosts_are_sorted_by_the_links_of_the_headings(client: FlaskClient) -> None:
    assert _names(client, "/hosts") == ["a.example", "c.example", "b.example"]
    assert _names(client, "/hosts?sort=host&reverse=1") == ["c.example", "b.example", "a.example"]
    assert _names(client, "/hosts?sort=pagerank") == ["a.example", "b.example", "c.example"]
    assert _names(client, "/hosts?reverse=1&name=.exAmple")[0] == "b.example"
    shown = client.get("/hosts?sort=bytes").text
    assert 'aria-sort="descending"><a href="/hosts?sort=bytes&amp;reverse=1"' in shown
    assert 'href="/hosts?sort=host"' in shown
    assert shown.count('<rect class="bar" x=') == 6  # without the damaged date
    assert client.get("/hosts?sort=size").status_code == 400


def test_a_page_beyond_the_last_host_leads_to_the_first(client: FlaskClient) -> None:
    shown = client.get("/hosts?page=7&name=example").text
    assert "There are no further pages" in shown
    assert 'href="/hosts?name=example"' in shown
    assert "No hosts" not in shown


def test_names_filter_and_pages_follow(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _names(client, "/hosts?name=B.ex") == ["b.example"]
    assert "No host of a capture" in client.get("/hosts?name=%3Cb%3E").text
    monkeypatch.setattr("webapp.explore.hosts.HOSTS_A_PAGE", 2)
    assert _names(client, "/hosts?page=2") == ["b.example"]
    assert 'href="/hosts?page=2" rel="next"' in client.get("/hosts").text


def test_files_have_all_hosts_and_follow_new_captures(client: FlaskClient, engine: Engine) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get("/hosts/list.csv?name=c.").text)))
    assert [(one["host"], one["captures"], one["statuses"]) for one in rows] == [
        ("c.example", "2", "200:2")
    ]
    found = json.loads(client.get("/hosts/list.json?sort=host").text)
    assert {one["host"]: one["captures"] for one in found} == {**COUNTS, "a.example": 4}
    assert client.get("/hosts/list.xml").status_code == 404
    engine.write(Batch(captures=(capture("http://d.example/", "2020"),)))
    engine.refresh()
    assert "d.example" in _names(client, "/hosts")


def test_tables_of_other_libraries_have_the_same_hosts(engine: Engine) -> None:
    with nwx.open(engine.address) as archive:
        found = archive.hosts(sort="host")
        assert found.to_polars()["captures"].to_list() == [4, 1, 2]
        assert found.to_pandas().host.tolist() == [one.host for one in found]
