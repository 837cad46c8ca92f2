"""The SQL page: for users only; its rows, chart and files, and refused queries."""

import io
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import polars as pl
import pytest
from flask.testing import FlaskClient

from nwx.archive import Archive
from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.base import Engine, open_engine
from nwx.settings import Settings
from tests.warcs import Page, html, write_warc
from tests.web.users.logins import ADA, BOB, MakeApp, log_in
from webapp.search import sql_page

PAGES = [
    Page("http://a.example/", "20100101000000", html("One <b>bold</b>", "a")),
    Page("http://a.example/2", "20110101000000", html("Two", "b")),
    Page("http://secret.example/", "20120101000000", html("Secret", "c")),
]
BY_YEAR = "SELECT year(timestamp) AS y, count(*) AS captures FROM captures GROUP BY y ORDER BY y"
ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An archive with a page that a rule hides from readers."""
    folder = tmp_path_factory.mktemp("sql")
    settings = Settings(engine=str(folder / "archive"))
    with Archive(settings) as archive:
        archive.import_(write_warc(folder / "a.warc.gz", PAGES), jobs=1)
    with open_engine(settings) as opened:
        rule = AccessRule("", Action.EXCLUDE, Scope(prefix="example,secret)"))
        opened.access_index().put([rule], ADA)
        yield opened


@pytest.fixture
def reader(client: FlaskClient) -> FlaskClient:
    """A client of a logged-in reader."""
    log_in(client, BOB)
    return client


def asked(client: FlaskClient, query: str, file: str = "") -> str:
    return client.get(f"/sql{file}?query={quote(query)}").text


def test_only_users_may_ask(client: FlaskClient, make_app: MakeApp) -> None:
    refused = client.get("/sql?query=SELECT+1")
    assert refused.status_code == 302 and "/login" in refused.headers["Location"]
    assert client.get("/sql/rows.csv?query=SELECT+1").status_code == 302
    assert make_app("none").test_client().get("/sql").status_code == 403
    assert 'href="/sql"' not in client.get("/help").text


def test_rows_chart_and_files(reader: FlaskClient) -> None:
    page = asked(reader, BY_YEAR)
    assert "<td" in page and "2011" in page and "2012" not in page
    assert "/sql/rows.svg?query=" in page and 'href="/sql"' in page
    assert asked(reader, BY_YEAR, "/rows.svg").startswith("<svg")
    assert asked(reader, BY_YEAR, "/rows.csv").splitlines() == ["y,captures", "2010,1", "2011,1"]
    found = reader.get(f"/sql/rows.json?query={quote(BY_YEAR)}").json
    assert found == [{"y": 2010, "captures": 1}, {"y": 2011, "captures": 1}]
    parquet = reader.get(f"/sql/rows.parquet?query={quote(BY_YEAR)}").data
    assert pl.read_parquet(io.BytesIO(parquet)).rows() == [(2010, 1), (2011, 1)]
    assert reader.get(f"/sql/rows.svg?query={quote('SELECT 1')}").status_code == 404
    assert reader.get("/sql/rows.xls?query=SELECT+1").status_code == 404


def test_archived_text_is_escaped(reader: FlaskClient) -> None:
    page = asked(reader, "SELECT title, '<script>' FROM documents WHERE title LIKE 'One%'")
    assert "<script>'" not in page and "&lt;script&gt;" in page


def test_queries_that_are_refused(reader: FlaskClient) -> None:
    page = reader.get("/sql?query=SELECT+captres+FROM+hosts")
    assert page.status_code == 400 and "columns of hosts" in page.text
    assert reader.get("/sql?query=ATTACH+'x'").status_code == 400
    assert "root:" not in asked(reader, "FROM read_text('/etc/passwd')")
    assert reader.get("/sql?query=FROM+links").status_code == 404
    assert reader.get(f"/sql?query={'x' * 5_000}").status_code == 400


def test_rules_hold_and_curators_see_all(reader: FlaskClient, make_app: MakeApp) -> None:
    query = "SELECT count(*) AS n FROM captures"
    assert asked(reader, query, "/rows.csv").split() == ["n", "2"]
    curator = make_app().test_client()
    log_in(curator, ADA)
    assert asked(curator, query, "/rows.csv").split() == ["n", "3"]
    assert "2012" in asked(curator, BY_YEAR) and "2012" not in asked(reader, BY_YEAR)


def test_an_endless_query_ends(reader: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_page, "_SHOWN", replace(sql_page._SHOWN, seconds=0.3))
    page = reader.get(f"/sql?query={quote(ENDLESS)}")
    assert page.status_code == 503 and "took longer than" in page.text
