"""The page that compares collections."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.crawl_index import DocumentScore
from nwx.engine.indices.quality_index import Fault
from nwx.model import Batch, Capture
from nwx.steering.specifications.specification_files import read_specification
from nwx.values.render_names import FaultKind
from nwx.values.urlkeys import urlkey
from tests.conformance.archive import capture
from tests.web.checked_archive import score_of
from webapp import create_app

TEXT = "name = 'floods'\nkeywords = ['flood']\nseeds = ['http://a.test/0']\n"
HOSTILE = "x'onload=a.test"


def captures() -> list[Capture]:
    """Return captures of two collections that share half of the URLs."""
    one = [capture(f"http://a.test/{n}", "2010", collection="one", status=200) for n in range(8)]
    two = [
        capture(f"http://a.test/{n}", "2012", body=f"new {n}", collection="two", status=200)
        for n in range(4, 12)
    ]
    lost = capture(f"http://{HOSTILE}/", "2012", collection="two", status=404)
    return [*one, *two, lost]


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        engine.write(Batch(captures=tuple(captures())))
        engine.refresh()
        yield engine


@pytest.fixture
def client(archive: Engine) -> FlaskClient:
    return create_app(archive).test_client()


def analyse(archive: Engine) -> None:
    """Store scores of all documents; those of the first collection are relevant."""
    index = archive.crawl_index()
    version = read_specification(TEXT, "floods").version()
    index.save_specification("floods", version, TEXT)
    index.put_scores(
        [
            DocumentScore("floods", version, one.document_id, one.url, one.timestamp, score)
            for one in captures()
            for score in [0.8 if one.collection == "one" else 0.02]
        ]
    )


def test_collections_are_chosen(client: FlaskClient) -> None:
    shown = client.get("/crawls/compare").text
    assert "Choose what to compare" in shown
    assert shown.count('<option value="one">') == 2
    itself = client.get("/crawls/compare?a=one&b=one", headers={"Accept-Language": "fr"})
    assert "one ne peut pas être comparée à elle-même" in itself.text
    assert "Choose what to compare" in client.get("/crawls/compare?a=one").text
    assert "/crawls/compare" in client.get("/crawls").text


def test_two_collections(client: FlaskClient) -> None:
    shown = client.get("/crawls/compare?a=one&b=two").text
    assert "URLs in both: 4. Newer in one: 0; newer in two: 4." in shown
    assert "x&#39;onload=a.test" in shown
    assert HOSTILE not in shown
    found = client.get("/crawls/compare/numbers.json?a=one&b=two").json
    assert found is not None
    assert found["overlap"]["urls"]["jaccard"] == round(4 / 13, 4)
    assert found["b"]["errors"] == 1


def test_relevance_by_a_specification(client: FlaskClient, archive: Engine) -> None:
    archive.crawl_index().save_specification("floods", "", TEXT)
    unknown = client.get("/crawls/compare?a=one&spec=floods").text
    assert "No page of this collection was analysed" in unknown
    analyse(archive)
    shown = client.get("/crawls/compare?a=one&b=two&spec=floods").text
    assert "Relevant (score from 0.1)" in shown
    assert "was analysed by" not in shown
    found = client.get("/crawls/compare/numbers.json?a=one&b=two&spec=floods").json
    assert found is not None
    assert [found[side]["relevance"]["relevant"] for side in "ab"] == [8, 0]
    assert found["a"]["rules"]["seeds"] == 1


@pytest.mark.parametrize("name", ["overlap", "harvest", "relevance", "freshness"])
def test_charts_are_pictures(client: FlaskClient, archive: Engine, name: str) -> None:
    analyse(archive)
    asked = "a=one&b=two&spec=floods"
    assert f"/crawls/compare/{name}.svg" in client.get(f"/crawls/compare?{asked}").text
    for scheme in ("light", "dark"):
        picture = client.get(f"/crawls/compare/{name}.svg?{asked}&scheme={scheme}")
        assert picture.mimetype == "image/svg+xml"
        assert "one" in picture.text
    assert client.get(f"/crawls/compare/{name}.png?{asked}").data.startswith(b"\x89PNG")


def test_charts_have_the_words_of_the_page(client: FlaskClient) -> None:
    headers = {"Accept-Language": "de"}
    shown = client.get("/crawls/compare/overlap.svg?a=one&b=two", headers=headers).text
    assert "Anteil am Ganzen" in shown
    assert "Share of" not in shown


def check(archive: Engine, score: float) -> None:
    """Store checks: a page plays worse in the second collection, with a hostile resource."""
    found = {(one.collection, one.urlkey): one for one in captures()}
    lost = f"http://{HOSTILE}/s.css"
    archive.quality_index().put(
        [
            score_of(found["one", "test,a)/4"], 1.0),
            score_of(
                found["two", "test,a)/4"],
                score,
                faults=(Fault(FaultKind.REDIRECT_LOOP), Fault(FaultKind.MISSING, lost, 404)),
                faults_total=2,
                resources=(urlkey(lost),),
            ),
            score_of(found["two", "test,a)/9"], 0.95),
        ]
    )


def test_quality_is_compared(client: FlaskClient, archive: Engine) -> None:
    asked = "/crawls/compare?a=one&b=two"
    assert "playback score" not in client.get(asked).text
    check(archive, 0.5)
    shown = client.get(asked).text
    assert "Pages checked in both: 1. In two, compared with one, they play worse: 1," in shown
    assert "Worse in two" in shown
    assert "Better in two" not in shown
    assert "-0.50" in shown
    assert "Redirect loop" in shown
    assert HOSTILE not in shown
    for name in ("quality", "faults"):
        assert f"/crawls/compare/{name}.svg" in shown
        picture = client.get(f"/crawls/compare/{name}.svg?a=one&b=two")
        assert picture.mimetype == "image/svg+xml"
    check(archive, 0.25)
    found = client.get("/crawls/compare/numbers.json?a=one&b=two").json
    assert found is not None
    assert found["quality"]["worst"][0]["scores"] == [1.0, 0.25]


def test_what_changed_is_compared_anew(client: FlaskClient, archive: Engine) -> None:
    before = client.get("/crawls/compare/numbers.json?a=one&b=two").json
    archive.write(Batch(captures=(capture("http://b.test/", "2013", collection="one"),)))
    after = client.get("/crawls/compare/numbers.json?a=one&b=two").json
    assert before is not None
    assert after is not None
    assert (before["a"]["captures"], after["a"]["captures"]) == (8, 9)


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("?a=one&b=none", 400, "there is no collection"),
        ("?a=one&b=one", 400, "name two collections"),
        ("?a=one&spec=none", 404, "there is no crawl specification"),
        ("/numbers.json?a=one", 400, "a, and b or spec, are missing"),
        ("/harvest.svg?a=one&b=two", 404, "has no chart"),
        ("/overlap.gif?a=one&b=two", 404, "svg and png"),
        ("/overlap.svg?a=one&b=two&scheme=pink", 400, "choose one of"),
    ],
)
def test_what_cannot_be_compared(
    client: FlaskClient, address: str, status: int, words: str
) -> None:
    answer = client.get(f"/crawls/compare{address}")
    assert (answer.status_code, words in answer.text) == (status, True)
