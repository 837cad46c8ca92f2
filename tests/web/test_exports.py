"""Results as files."""

import csv
import gzip
import io
import json
import re
import zipfile
from functools import partial
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.bulk.progress import no_progress
from nwx.engine.access.rules import Role, Viewer
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.exports import captures
from nwx.maintenance.purge import Purge
from nwx.maintenance.takedown_targets import takedown_rule, takedown_scope
from nwx.model import Collapse, Hit
from nwx.query.question import Question
from nwx.settings import Settings
from tests.unit.exports.test_wacz import load
from tests.warcs import Page, html, write_warc
from webapp import create_app
from webapp.search import exports
from webapp.site.viewer import VIEWER_EXTENSION


def test_csv_has_a_line_a_result_in_the_order_of_the_pages(client: FlaskClient) -> None:
    answer = client.get("/export/results.csv?q=quarry&sort=oldest")
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    listed = client.get("/api/search?q=quarry&sort=oldest&limit=100").get_json()["hits"]
    assert [line["id"] for line in lines] == [hit["id"] for hit in listed]
    assert answer.mimetype == "text/csv"
    assert "results.csv" in answer.headers["Content-Disposition"]


def test_csv_keeps_filters(client: FlaskClient) -> None:
    answer = client.get("/export/results.csv?q=quarry&type=pdf")
    (line,) = csv.DictReader(io.StringIO(answer.text))
    assert line["url"] == "http://www.example.org/rapport.pdf"
    assert line["first_date"] == line["last_date"] == "2014-03-03T03:03:03Z"
    marked = client.get("/export/results.csv?q=quarry&type=pdf&excel=1")
    assert marked.text == f"\ufeff{answer.text}"


def test_json_is_one_array_of_hits(client: FlaskClient) -> None:
    hits = json.loads(client.get("/export/results.json?q=quarry&collapse=none").text)
    assert len(hits) == 49
    assert set(hits[0]) >= {"url", "digest", "title", "dates"}
    assert json.loads(client.get("/export/results.json?q=zebra").text) == []


def test_urls_come_one_a_line(client: FlaskClient) -> None:
    lines = client.get("/export/results.txt?q=quarry&domain=example.com").text.splitlines()
    assert len(lines) == 40
    assert all(line.startswith("http://blog.example.com/") for line in lines)


def test_what_cannot_be_exported_is_told(client: FlaskClient) -> None:
    assert client.get("/export/results.xls").status_code == 404
    assert client.get("/export/results.csv?sort=best").status_code == 400
    assert client.get("/export/results.csv?q=(").status_code == 400


def _hit(title: str) -> Hit:
    return Hit("id", "http://example.org/", "sha1:A", title, ("20100101000000",), 1.0)


def test_no_cell_is_a_formula() -> None:
    for start in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"):
        (_, line) = captures.results_csv([_hit(start)])
        (cells,) = csv.reader(io.StringIO(line, newline=""))
        assert cells[1] == f"'{start}"


def test_cells_with_quotes_and_lines_survive() -> None:
    title = 'A "title", with\nlines'
    (_, line) = captures.results_csv([_hit(title)])
    (cells,) = csv.reader(io.StringIO(line, newline=""))
    assert cells[1] == title


def test_beyond_the_pages_every_version_is_streamed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "RESULT_WINDOW", 20)
    question = Question(query="quarry", collapse=Collapse.URL)
    assert len(list(captures.all_hits(engine, question))) == 49


def test_pages_are_read_in_batches(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures, "RESULTS_AT_ONCE", 7)
    hits = list(captures.all_hits(engine, Question(query="quarry", collapse=Collapse.URL)))
    assert len({hit.id for hit in hits}) == len(hits) == 47


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A separate cache folder."""
    monkeypatch.setenv("NWX_CACHE", str(tmp_path))


@pytest.mark.usefixtures("cache")
def test_records_of_results_are_packed_and_a_download_goes_on(tmp_path: Path) -> None:
    page = Page("http://a.example/", "20100101000000", html("Slate", "quarry <img src=/a.png>"))
    image = Page("http://a.example/a.png", "20110101000000", b"image", content_type="image/png")
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        load(engine, tmp_path, write_warc(tmp_path / "a.warc.gz", [page, image]))
        client = create_app(engine).test_client()
        with client.get("/export/results.wacz?q=quarry") as whole:
            data, tag = whole.data, whole.headers["ETag"]
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            lines = gzip.decompress(packed.read("indexes/index.cdx.gz")).decode().splitlines()
        assert [line.split()[0] for line in lines] == ["example,a)/", "example,a)/a.png"]
        headers = {"Range": "bytes=100-", "If-Range": tag}
        with client.get("/export/results.wacz?q=quarry", headers=headers) as rest:
            assert (rest.status_code, rest.data) == (206, data[100:])
        with client.get("/export/results.warc.gz?q=quarry&type=html") as warc:
            assert b"quarry" in gzip.decompress(warc.data)


@pytest.mark.usefixtures("cache")
def test_what_was_purged_is_in_no_file_that_was_packed_before(tmp_path: Path) -> None:
    """This also holds for users to whom nothing is hidden."""
    pages = [
        Page(f"http://a.example/{name}", "20100101000000", html("Slate", f"quarry {name}"))
        for name in ("wombat", "stone")
    ]
    folder = tmp_path / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.create()
        load(engine, tmp_path, write_warc(tmp_path / "a.warc.gz", pages))
        app = create_app(engine)
        app.extensions[VIEWER_EXTENSION] = lambda: Viewer(user="eva", role=Role.CURATOR)
        asked = ("/export/results.warc.gz?q=quarry", app.test_client())
        assert {b"quarry wombat", b"quarry stone"} <= _packed_texts(*asked)
        scope = takedown_scope(engine, pages[0].url)
        rule = takedown_rule(engine, scope, "a court's order", purged=True)
        reopen = partial(EmbeddedEngine, folder)
        Purge(engine, Settings(str(folder)), reopen, rule, no_progress).run()
        engine.refresh()
        assert b"quarry wombat" not in _packed_texts(*asked)
        assert b"quarry stone" in _packed_texts(*asked)


def _packed_texts(address: str, client: FlaskClient) -> set[bytes]:
    with client.get(address) as answer:
        return set(re.findall(rb"quarry \w+", gzip.decompress(answer.data)))


@pytest.mark.usefixtures("cache")
def test_too_many_results_are_not_packed(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MOST_DOCUMENTS", 10)
    answer = client.get("/export/results.wacz?q=quarry")
    assert answer.status_code == 400
    assert "nwx wacz" in answer.text


def test_fields_are_chosen(client: FlaskClient) -> None:
    answer = client.get("/export/results.csv?q=quarry&type=pdf&fields=host,url")
    assert answer.text.splitlines()[1] == "www.example.org,http://www.example.org/rapport.pdf"
    assert client.get("/export/results.csv?q=quarry&fields=colour").status_code == 400
