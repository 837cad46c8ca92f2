"""The page of changes, its feed, the calendar coloured by changes, navigation between versions."""

from pathlib import Path
from xml.etree import ElementTree

from flask.testing import FlaskClient

from nwx.engine.embedded import EmbeddedEngine
from tests.conformance.archive import batch, page
from tests.web.addresses import FIRST, SECOND
from tests.web.archive import HOME
from webapp.application import create_app


def test_a_site_is_summed_up(client: FlaskClient) -> None:
    text = client.get("/changes?site=example.org").get_data(as_text=True)
    assert "pages-changed" in text
    assert f"/documents/between?url={HOME.replace(':', '%3A').replace('/', '%2F')}" in text or (
        "/documents/between?url=" in text
    )
    assert "Nothing to compare" in client.get("/changes?site=nowhere.test").get_data(as_text=True)
    assert client.get("/changes?site=*").status_code == 400


def test_the_feed_is_atom(client: FlaskClient) -> None:
    answer = client.get("/changes/feed.atom?site=example.org")
    assert answer.mimetype == "application/atom+xml"
    feed = ElementTree.fromstring(answer.data)
    space = {"a": "http://www.w3.org/2005/Atom"}
    entries = feed.findall("a:entry", space)
    assert HOME in str(entries[0].findtext("a:title", "", space)) or len(entries) > 1
    times = [entry.findtext("a:updated", "", space) for entry in entries]
    assert times == sorted(times, reverse=True)


def test_days_are_coloured_by_what_changed(client: FlaskClient) -> None:
    for colour in ("text", "links", "look"):
        text = client.get(f"/documents/{SECOND}?year=2012&colour={colour}").get_data(as_text=True)
        assert ("% changed" in text) == (colour != "look")
    assert client.get(f"/documents/{FIRST}?colour=red").status_code == 400


def test_two_moments_lead_to_their_difference(client: FlaskClient) -> None:
    answer = client.get(f"/documents/between?url={HOME}&old=2000&new=2030")
    assert "/diff/" in answer.headers["Location"]
    assert 'id="compared"' in client.get(answer.headers["Location"]).get_data(as_text=True)
    picture = client.get(f"/documents/{FIRST}/diff/{SECOND}/picture")
    assert picture.status_code in (200, 404)


def test_curators_watch_sites(tmp_path: Path) -> None:
    pages = [
        page("http://town.test/a", "2010", "a lamp"),
        page("http://town.test/a", "2012", "x y"),
    ]
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.write(batch(pages))
        engine.refresh()
        client = create_app(engine, queue_token="a-token").test_client()
        form = {"site": "town.test", "token": "a-token"}
        assert client.post("/changes", data=form | {"token": "wrong"}).status_code == 403
        assert client.post("/changes", data=form | {"webhook": "ftp://x"}).status_code == 400
        assert "town.test</a>" in client.post("/changes", data=form, follow_redirects=True).text
        assert "http://town.test/a" in client.get("/changes/feed.atom").text
        client.post("/changes", data=form | {"action": "remove"})
        assert "No site is watched yet" in client.get("/changes").text
