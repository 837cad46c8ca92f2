"""Results as files."""

import csv
import io
import json

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from nwx.exports import results
from nwx.model import Collapse, Hit
from nwx.query.question import Question


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
    assert line["first_date"] == line["last_date"] == "20140303030303"


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
        (_, line) = results.results_csv([_hit(start)])
        (cells,) = csv.reader(io.StringIO(line, newline=""))
        assert cells[1] == f"'{start}"


def test_cells_with_quotes_and_lines_survive() -> None:
    title = 'A "title", with\nlines'
    (_, line) = results.results_csv([_hit(title)])
    (cells,) = csv.reader(io.StringIO(line, newline=""))
    assert cells[1] == title


def test_beyond_the_pages_every_version_is_streamed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULT_WINDOW", 20)
    question = Question(query="quarry", collapse=Collapse.URL)
    assert len(list(results.all_hits(engine, question))) == 49


def test_pages_are_read_in_batches(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS_AT_ONCE", 7)
    hits = list(results.all_hits(engine, Question(query="quarry", collapse=Collapse.URL)))
    assert len({hit.id for hit in hits}) == len(hits) == 47
