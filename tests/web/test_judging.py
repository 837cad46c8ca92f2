"""The page for judging results."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.archive import Archive
from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.embedded import EmbeddedEngine
from tests.conformance.archive import batch, page
from webapp.application import create_app

TOKEN = "a-token"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        pages = [page(f"http://example.org/{n}", "2010", f"a lamp {n}") for n in range(2)]
        engine.write(batch(pages))
        engine.refresh()
        yield engine


@pytest.fixture
def client(engine: EmbeddedEngine) -> FlaskClient:
    return create_app(engine, queue_token=TOKEN).test_client()


def test_results_are_judged_without_scripts(client: FlaskClient, engine: EmbeddedEngine) -> None:
    archive = Archive.over(engine)
    archive.judge_queries(["lamp"])
    assert "lamp</a>" in client.get("/judge").text
    shown = client.get("/judge?query=lamp&judge=ann").text
    assert "2 results left" in shown
    first, *_ = re.findall(r"<button[^>]*>", shown[shown.index('id="grades"') :])
    assert "disabled" in first, "Enter in a field presses the first"
    url = re.search(r'name="url" value="([^"]+)"', shown)
    assert url is not None
    form = {"query": "lamp", "judge": "ann", "url": url[1], "grade": "3", "token": TOKEN}
    assert client.post("/judge", data=form | {"token": "wrong"}).status_code == 403
    assert client.post("/judge", data=form | {"grade": "7"}).status_code == 400
    answer = client.post("/judge", data=form, follow_redirects=True)
    assert "1 result left" in answer.text
    assert [tuple(one) for one in archive.judgements()] == [("lamp", url[1], 3, "ann")]
    skipped = client.post("/judge", data=form | {"grade": "skip"}, follow_redirects=True).text
    assert "All results of this query are judged" in skipped


def test_without_a_token_nobody_is_offered_a_form(engine: EmbeddedEngine) -> None:
    Archive.over(engine).judge_queries(["lamp"])
    shown = create_app(engine).test_client().get("/judge?query=lamp").text
    assert "Only curators can judge results" in shown
    assert 'id="grades"' not in shown


def test_a_ranking_is_chosen_by_the_address(client: FlaskClient) -> None:
    assert client.get("/search?q=lamp&ranking=older").status_code == 200
    assert "ranking=older" in client.get("/search?q=lamp&ranking=older").text
    assert client.get("/search?q=lamp&ranking=none").status_code == 400
    assert client.get("/api/search?q=lamp&ranking=older").status_code == 200


def test_most_words_are_told(client: FlaskClient) -> None:
    assert "most of them" in client.get("/search?q=lamp+unheardof").text
    assert client.get("/api/search?q=lamp+unheardof").json["most_words"] is True


def test_results_with_the_same_text_are_folded(client: FlaskClient, engine: EmbeddedEngine) -> None:
    urls = [f"http://example.org/copies/{n}" for n in range(3)]
    engine.write(batch([page(url, "2010", "torch", signature="00000000000000aa") for url in urls]))
    engine.refresh()
    shown = client.get("/search?q=torch").text
    assert shown.count("hit-title") == 1
    assert "and 2 more with the same text" in shown
    first, *others = client.get("/api/search?q=torch").json["hits"]
    assert {one["copy_of"] for one in others} == {first["id"]}
    assert client.get("/search?q=torch&collapse=none").text.count("hit-title") == 3


def test_the_token_alone_does_not_judge_an_archive_with_access_rules(
    client: FlaskClient, engine: EmbeddedEngine
) -> None:
    Archive.over(engine).judge_queries(["lamp"])
    engine.access_index().put([AccessRule("", Action.BLOCK, Scope(prefix="org,other)/"))], "ada")
    url = "http://example.org/0"
    form = {"query": "lamp", "judge": "ann", "url": url, "grade": "3", "token": TOKEN}
    watch = {"site": "a.test", "token": TOKEN}
    for address, asked, fields in (("/judge", "?query=lamp", form), ("/changes", "", watch)):
        refused = client.post(address, data=fields)
        assert refused.status_code == 403
        assert "only users who see the whole archive" in refused.text
        assert 'method="post"' not in client.get(address + asked).text
