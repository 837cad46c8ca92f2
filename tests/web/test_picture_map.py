"""The map of pictures."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.base import Engine, open_engine
from nwx.importing import ImportOptions, import_files
from nwx.pictures.build import build_pictures
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.pictured import SITE, drawing, photograph
from tests.warc_records import http_response, warc_bytes, write_records
from tests.web.html import Page
from webapp import create_app

PHOTOGRAPHS = {
    f"{SITE}here.jpg": ((55, 40, 34.5), (12, 34, 0), "NE"),
    f"{SITE}near.jpg": ((56, 9, 0), (10, 12, 0), "NE"),
    f"{SITE}fiji.jpg": ((17, 45, 0), (178, 0, 0), "SE"),
    f"{SITE}sea.jpg": ((30, 0, 0), (40, 0, 0), "NW"),
}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    images = {f"{SITE}plain.jpg": drawing("JPEG")}
    images |= {url: photograph(*place) for url, place in PHOTOGRAPHS.items()}
    records = [
        warc_bytes(
            "response",
            http_response(image, "image/jpeg"),
            id=url,
            url=url,
            date="2010-05-01T00:00:00Z",
        )
        for url, image in images.items()
    ]
    path = write_records(tmp_path / "a.warc.gz", records)
    settings = Settings(str(tmp_path / "archive"))
    with open_engine(settings) as engine:
        engine.create()
        import_files(engine, settings, list(expand([str(path)])), ImportOptions(jobs=1))
        build_pictures(engine, workers=1)
        yield engine


@pytest.fixture
def client(engine: Engine) -> FlaskClient:
    return create_app(engine).test_client()


def _listed(client: FlaskClient, box: str) -> list[str]:
    found = client.get(f"/api/pictures?box={box}").get_json()["pictures"]
    return sorted(one["url"].removeprefix(SITE) for one in found)


def test_map_and_list_lead_to_the_pictures_of_a_place(client: FlaskClient) -> None:
    page = Page(client.get("/pictures/map").text)
    assert not page.faults
    circles = [one for one in page.elements if one.tag == "circle" and "a" in one.parents]
    assert [one.attributes["r"] for one in circles][1:] == ["9.2", "8.0", "8.0"]  # after the logo
    countries = [one.text for one in page.elements if one.tag == "strong"]
    assert countries == ["4", "Denmark", "elsewhere", "Fiji"]
    links = [
        one.attributes["href"]
        for one in page.elements
        if one.tag == "a" and "li" in one.parents and "box=" in one.attributes["href"]
    ]
    boxes = [link.partition("box=")[2] for link in links]
    assert sorted(map(tuple, (_listed(client, box) for box in boxes))) == [
        ("fiji.jpg",),
        ("here.jpg", "near.jpg"),
        ("sea.jpg",),
    ]
    shown = client.get(links[0]).text
    assert ".jpg" in shown
    assert "plain.jpg" not in shown
    assert client.get("/pictures/map?lang=de").status_code == 200


def test_hidden_pictures_are_not_on_the_map(client: FlaskClient, engine: Engine) -> None:
    engine.access_index().put(
        [AccessRule("", Action.BLOCK, Scope(prefix="example,pictured)/fiji"))], "ada"
    )
    shown = client.get("/pictures/map").text
    assert "Denmark" in shown
    assert "Fiji" not in shown
    assert _listed(client, "170,-20,-170,0") == []
    assert _listed(client, "-180,-90,180,90") == ["here.jpg", "near.jpg", "sea.jpg"]


@pytest.mark.parametrize("box", ["1,2,3", "a,b,c,d", "0,10,5,5", "0,0,181,0", "nan,0,1,1"])
def test_a_box_that_is_none_is_refused(client: FlaskClient, box: str) -> None:
    assert client.get(f"/api/pictures?box={box}").status_code == 400
    assert client.get(f"/pictures?box={box}").status_code == 400
