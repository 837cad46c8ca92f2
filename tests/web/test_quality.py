"""The quality pages: lists, filters, single pages, images, exports, the API."""

import csv
import io

import pytest
from flask.testing import FlaskClient
from PIL import Image

from nwx.engine.embedded import EmbeddedEngine
from tests.web.addresses import FIRST, SECOND
from tests.web.checked_archive import (
    BROKEN_SCORE,
    HOME_SCORE,
    HOSTILE_SCORE,
    MISSING_CSS,
    OTHERS,
)
from webapp import create_app

ALL = OTHERS + 3


def test_the_worst_pages_come_first(client: FlaskClient) -> None:
    page = client.get("/quality").text
    assert f"<strong>{ALL}</strong> pages checked" in page
    assert page.index("evil.example") < page.index("www.example.org/</a>")
    assert f"/quality/page?id={HOME_SCORE}" in page
    assert "Page 1 of 3" in page
    last = client.get("/quality?page=3").text
    assert "blog.example.com/59" in last
    assert "There are no further pages" in client.get("/quality?page=9").text
    assert "Checked last" in client.get("/quality?order=newest").text


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("site=example.org", 2),
        ("site=www.example.org", 2),
        ("host=example.org", 0),
        ("month=2009-03", 1),
        ("collection=blogs", OTHERS),
        ("kind=missing", 2),
        ("kind=far&site=example.com", OTHERS // 2),
    ],
)
def test_pages_are_filtered(client: FlaskClient, query: str, count: int) -> None:
    found = client.get(f"/api/quality?{query}").get_json()
    assert found["pages"] == len(found["scores"]) == count
    page = client.get(f"/quality?{query}").text
    assert f"<strong>{count}</strong>" in page if count else "No such page" in page
    rows = list(csv.DictReader(io.StringIO(client.get(f"/quality/scores.csv?{query}").text)))
    assert [row["id"] for row in rows] == [one["id"] for one in found["scores"]]
    assert client.get(f"/quality/scores.json?{query}").get_json() == found["scores"]


@pytest.mark.parametrize(
    "query", ["kind=x", "month=2010", "order=best", "page=0", "site=" + "x" * 301]
)
def test_what_makes_no_sense_is_refused(client: FlaskClient, query: str) -> None:
    assert client.get(f"/quality?{query}").status_code == 400


def test_an_export_has_all_pages(client: FlaskClient) -> None:
    answer = client.get("/quality/scores.csv")
    assert "attachment" in answer.headers["Content-Disposition"]
    assert len(answer.text.splitlines()) == ALL + 1
    assert client.get("/quality/scores.xml").status_code == 404


def test_a_page_has_its_numbers_faults_and_pictures(client: FlaskClient) -> None:
    page = client.get(f"/quality/page?id={HOME_SCORE}").text
    for words in ("61.7%", "11 good, 3 bad", "1 year", "3 days", "99.9%", "Score 0.31"):
        assert words in page
    for of in ("crawl", "playback", "difference"):
        assert f"of={of}" in page
    assert f"/cdx?url={MISSING_CSS}" in page
    assert "$ is not a function" in page
    assert "3 more were counted" in page
    assert client.get("/quality/page?id=nobody").status_code == 404
    assert client.get("/quality/page").status_code == 404


def test_texts_of_archives_are_escaped(client: FlaskClient) -> None:
    for address in ("/quality", f"/quality/page?id={HOSTILE_SCORE}"):
        page = client.get(address).text
        assert "<script>alert" not in page
        assert 'href="javascript' not in page
        assert "<b>" not in page


@pytest.mark.parametrize("of", ["crawl", "playback", "difference"])
@pytest.mark.parametrize("size", ["small", "large"])
def test_pictures_are_scaled(client: FlaskClient, of: str, size: str) -> None:
    address = f"/quality/picture?id={HOME_SCORE}&of={of}&size={size}"
    answer = client.get(address)
    assert answer.mimetype == "image/webp"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    picture = Image.open(io.BytesIO(answer.data))
    assert picture.width == (240 if size == "small" else 960)
    assert "no-cache" in answer.headers["Cache-Control"]
    etag = answer.headers["ETag"]
    assert client.get(address, headers={"If-None-Match": etag}).status_code == 304


@pytest.mark.parametrize(
    ("id", "of"),
    [
        (HOSTILE_SCORE, "crawl"),  # the record of a different page is at its offset
        (HOSTILE_SCORE, "playback"),
        (HOSTILE_SCORE, "difference"),
        (BROKEN_SCORE, "crawl"),
        (BROKEN_SCORE, "playback"),
        (BROKEN_SCORE, "difference"),
        ("/etc/passwd", "crawl"),
    ],
)
def test_only_pictures_of_the_page_are_read(client: FlaskClient, id: str, of: str) -> None:
    answer = client.get(f"/quality/picture?id={id}&of={of}")
    assert answer.status_code == 404
    if id == BROKEN_SCORE or (id, of) == (HOSTILE_SCORE, "crawl"):
        assert Image.open(io.BytesIO(answer.data)).size == (240, 150)


def test_scores_are_linked_where_there_are_any(client: FlaskClient) -> None:
    assert 'href="/quality"' in client.get("/").text
    document = client.get(f"/documents/{FIRST}").text
    assert f"/quality/page?id={HOME_SCORE}" in document
    assert "0.31" in document
    assert "/quality/page" not in client.get(f"/documents/{SECOND}").text


def test_an_archive_without_scores(tmp_path_factory: pytest.TempPathFactory) -> None:
    with EmbeddedEngine(tmp_path_factory.mktemp("none") / "archive") as engine:
        engine.create()
        client = create_app(engine).test_client()
        assert "nwx check-playback" in client.get("/quality").text
        assert client.get("/api/quality").get_json()["mean_score"] is None
        assert client.get("/quality/scores.json").get_json() == []
