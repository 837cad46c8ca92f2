"""Thumbnails and renders: images of captured pages, and safe handling of hostile stored bytes."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from PIL import Image
from playwright.sync_api import Page as BrowserPage
from playwright.sync_api import expect

from nwx.engine.base import Engine, open_engine
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.rendering.hostile_site import broken_pictures
from tests.renders import (
    ALL_RENDERS,
    PAGE,
    page_record,
    picture,
    render,
    write_rendered,
)
from tests.warc_records import http_response, warc_bytes
from tests.web.html import Page
from tests.web.serving import serving
from webapp import create_app
from webapp.site.context import SERVICE_EXTENSION, ScaledPictures

BARE = "http://bare.example/"
SECOND = "http://second.example/"
IMAGE = "http://image.example/tall.png"
SVG = "http://image.example/drawing.svg"
CUT = "http://image.example/cut.jpg"
HOSTILE = "http://hostile.example/"
DATE = "2020-01-01T00:00:00Z"
MOMENT = "20200101000000"
SCRIPT = b"<html><script>alert(1)</script></html>"


def _image(url: str, body: bytes, content_type: str) -> bytes:
    block = http_response(body, content_type)
    return warc_bytes("response", block, id=url, url=url, date=DATE)


def _records() -> Iterator[bytes]:
    yield page_record(BARE, DATE, "a page without renders")
    yield page_record(SECOND, DATE, "a page with two versions")
    yield page_record(SECOND, "2022-01-01T00:00:00Z", "a page with two versions, the later one")
    yield render(f"urn:view:{SECOND}", picture("JPEG"), "image/jpeg", "2022-01-01T00:00:05Z")
    yield _image(IMAGE, picture(size=(100, 800)), "image/png")
    yield _image(SVG, b"<svg onload='alert(1)'/>", "image/svg+xml")
    yield _image(CUT, picture("JPEG")[:900], "image/jpeg")
    for number, (name, payload) in enumerate(broken_pictures().items()):
        url = f"{HOSTILE}{number}"
        yield page_record(url, DATE, f"hostile picture: {name}")
        yield render(f"urn:view:{url}", payload, "image/png", DATE)
    url = f"{HOSTILE}scripts"
    yield page_record(url, DATE, "hostile scripts")
    for uri, content_type in (
        (f"urn:view:{url}", "image/svg+xml"),
        (f"urn:text:{url}", "text/html"),
        (f"onreadydom:{url}", "application/xhtml+xml"),
        (f"urn:pageinfo:{url}", "text/javascript"),
        (f"urn:fullPage:{url}", "application/x-unknown"),
        (f"urn:X-wpull:snapshot?url={url}", "application/pdf"),
    ):
        yield render(uri, SCRIPT, content_type, DATE)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An archive with renders by all conventions, and hostile ones."""
    folder = tmp_path_factory.mktemp("pictures")
    path = write_rendered(folder / "renders.warc.gz", list(_records()))
    settings = Settings(str(folder / "archive"))
    with open_engine(settings) as opened:
        opened.create()
        import_files(opened, settings, list(expand([str(path)])), ImportOptions(jobs=1))
        yield opened


@pytest.fixture
def client(engine: Engine) -> FlaskClient:
    """A client of that archive."""
    return create_app(engine).test_client()


def thumbnail(url: str, timestamp: str = MOMENT, **more: str) -> dict[str, str]:
    """Return the query parameters of a thumbnail."""
    return {"url": url, "timestamp": timestamp, **more}


def size_of(payload: bytes) -> tuple[int, int]:
    """Return width and height of an image."""
    with Image.open(io.BytesIO(payload)) as image:
        return image.size


def test_search_results_show_thumbnails(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=&per_page=50").text)
    assert page.faults == []
    images = {one.attributes["src"].partition("&")[0]: one.attributes for one in page.all("img")}
    assert "/thumbnail?url=http://bare.example/" not in images
    assert f"/thumbnail?url={SVG}" not in images
    shown = images["/thumbnail?url=http://www.example.org/page?b%3D2%26a%3D1"]
    assert shown["src"].endswith("&timestamp=20200101000009")
    assert (shown["width"], shown["height"], shown["loading"]) == ("160", "100", "lazy")
    assert shown["alt"] == "Screenshot of 1 Jan 2020"
    assert images[f"/thumbnail?url={IMAGE}"]["alt"] == "Image of 1 Jan 2020"
    for address in (one.attributes["src"] for one in page.all("img")):
        answer = client.get(address)
        assert answer.mimetype in ("image/webp", "image/svg+xml")
        assert answer.status_code == (200 if answer.mimetype == "image/webp" else 404)


def test_a_version_is_shown_by_its_own_render(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=versions&collapse=none").text)
    assert len(page.all("li", class_="hit")) == 2
    (image,) = page.all("img")
    assert image.attributes["src"].endswith("&timestamp=20220101000005")
    assert client.get("/thumbnail", query_string=thumbnail(SECOND)).status_code == 404
    assert client.get("/thumbnail", query_string=thumbnail(SECOND, "2022")).status_code == 200


@pytest.mark.parametrize(
    ("url", "size", "pixels"),
    [
        (PAGE, "small", (300, 187)),
        (PAGE, "large", (300, 187)),
        (PAGE.replace("http://www.", "https://"), "small", (300, 187)),
        (IMAGE, "small", (25, 200)),
        (IMAGE, "large", (75, 600)),
    ],
)
def test_thumbnails(client: FlaskClient, url: str, size: str, pixels: tuple[int, int]) -> None:
    answer = client.get("/thumbnail", query_string=thumbnail(url, size=size))
    assert (answer.status_code, answer.mimetype) == (200, "image/webp")
    assert size_of(answer.data) == pixels
    headers = answer.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "private, max-age=3600"


def test_thumbnails_are_sent_once(client: FlaskClient) -> None:
    asked = thumbnail(PAGE)
    etag = client.get("/thumbnail", query_string=asked).headers["ETag"]
    again = client.get("/thumbnail", query_string=asked, headers={"If-None-Match": etag})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == etag
    other = client.get("/thumbnail", query_string=thumbnail(IMAGE), headers={"If-None-Match": etag})
    assert other.status_code == 200


@pytest.mark.parametrize(
    "url",
    [BARE, SVG, CUT, "http://nowhere.example/", *(f"{HOSTILE}{n}" for n in range(9))],
)
def test_what_has_no_picture_has_a_placeholder(client: FlaskClient, url: str) -> None:
    answer = client.get("/thumbnail", query_string=thumbnail(url))
    assert (answer.status_code, answer.mimetype) == (404, "image/svg+xml")
    assert "script" not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"url": PAGE},
        thumbnail(PAGE, "soon"),
        thumbnail("http://%2525".replace("25", "25" * 70)),
        thumbnail(PAGE, size="huge"),
    ],
)
def test_addresses_that_make_no_sense(client: FlaskClient, asked: dict[str, str]) -> None:
    assert client.get("/thumbnail", query_string=asked).status_code == 400


def test_the_page_of_a_document_lists_its_renders(client: FlaskClient) -> None:
    answer = client.get("/documents/of", query_string={"url": PAGE}, follow_redirects=True)
    page = Page(answer.text)
    assert page.faults == []
    links = [
        one.attributes["href"]
        for one in page.all("a")
        if one.attributes["href"].startswith("/renders/")
    ]
    assert len(links) == len(set(links)) == ALL_RENDERS
    for address in links:
        found = client.get(address)
        assert found.status_code == 200
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in found.headers["Content-Security-Policy"]
        assert found.mimetype in ("image/png", "image/jpeg", "text/plain", "application/json")
        etag = found.headers["ETag"]
        assert client.get(address, headers={"If-None-Match": etag}).status_code == 304
    (shown,) = page.all("img")
    assert shown.attributes["src"].endswith("&size=large")


def test_the_page_of_a_document_without_renders(client: FlaskClient) -> None:
    answer = client.get("/documents/of", query_string={"url": BARE}, follow_redirects=True)
    page = Page(answer.text)
    assert page.all("img") == []
    assert page.all("section", id="renders") == []


def test_the_dom_is_shown_as_text(client: FlaskClient) -> None:
    answer = client.get("/renders/dom", query_string=thumbnail(PAGE))
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.text == "<script>alert(1)</script>"


@pytest.mark.parametrize(
    ("kind", "served", "disposition"),
    [
        ("view", "text/plain", "inline"),
        ("text", "text/plain", "inline"),
        ("dom", "text/plain", "inline"),
        ("pageinfo", "text/plain", "inline"),
        ("fullPage", "application/octet-stream", "attachment"),
        ("snapshot", "application/octet-stream", "attachment"),
    ],
)
def test_no_render_is_a_page(client: FlaskClient, kind: str, served: str, disposition: str) -> None:
    asked = thumbnail(f"{HOSTILE}scripts")
    answer = client.get(f"/renders/{kind}", query_string=asked)
    assert (answer.mimetype, answer.data) == (served, SCRIPT)
    assert answer.headers["Content-Disposition"].startswith(disposition)


@pytest.mark.parametrize(
    ("address", "status"),
    [
        (f"/renders/view?url={BARE}&timestamp=2020", 404),
        (f"/renders/view?url={SECOND}&timestamp=2022&number=2", 404),
        (f"/renders/view?url={SECOND}&timestamp=2022&number=0", 400),
        (f"/renders/%3Cb%3E?url={SECOND}&timestamp=2022", 404),
        (f"/renders/dom?url={SECOND}", 400),
    ],
)
def test_renders_that_are_not_there(client: FlaskClient, address: str, status: int) -> None:
    answer = client.get(address)
    assert answer.status_code == status
    assert Page(answer.text).faults == []


def test_renders_are_no_results(client: FlaskClient) -> None:
    found = client.get("/api/search?q=&limit=100").get_json()
    assert found["total"]["value"] == 16
    assert all(one["url"].startswith("http") for one in found["hits"])


def test_an_archive_without_renders_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_engine(Settings(str(tmp_path / "empty"))) as opened:
        opened.create()
        asked: list[object] = []
        monkeypatch.setattr(opened, "has_keys", lambda starts: bool(asked.append(starts)))
        monkeypatch.setattr(opened, "captures_near", lambda *_: pytest.fail("asked for captures"))
        own = create_app(opened).test_client()
        from tests.web.archive import batch

        opened.write(batch())
        opened.refresh()
        for _ in range(3):
            assert "<img" not in own.get("/search?q=quarry").text
        assert len(asked) == 1


def test_files_that_are_gone(engine: Engine, client: FlaskClient) -> None:
    (file,) = engine.files()
    path = Path(file.path)
    away = path.rename(path.with_suffix(".away"))
    try:
        asked = thumbnail(PAGE)
        assert client.get("/thumbnail", query_string=asked).status_code == 404
        assert client.get("/renders/view", query_string=asked).status_code == 404
    finally:
        away.rename(path)
    assert client.get("/thumbnail", query_string=thumbnail(IMAGE)).status_code == 200


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("width", [1_100, 320])
def test_thumbnails_in_a_browser(engine: Engine, page: BrowserPage, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    with serving(create_app(engine)) as server:
        page.goto(f"{server}/search?q=page+-hostile&per_page=50")
        for image in page.locator(".hit-picture img").all():
            image.scroll_into_view_if_needed()
            expect(image).to_have_js_property("complete", True)
            assert image.evaluate("one => one.naturalWidth") > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator(".hit-picture").first.click()
        expect(page.locator(".document-picture img")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("link", name="DOM").click()
        expect(page.locator("body")).to_contain_text("<script>alert(1)</script>")


def test_too_many_pictures_at_once(engine: Engine) -> None:
    app = create_app(engine)
    scaled = ScaledPictures(at_once=1, wait_seconds=0.01)
    app.extensions[SERVICE_EXTENSION] = replace(app.extensions[SERVICE_EXTENSION], scaled=scaled)
    with scaled.place():
        answer = app.test_client().get("/thumbnail", query_string=thumbnail(PAGE))
        assert (answer.status_code, answer.mimetype) == (503, "image/svg+xml")
        stored = app.test_client().get("/renders/dom", query_string=thumbnail(PAGE))
        assert stored.status_code == 503
    again = app.test_client().get("/thumbnail", query_string=thumbnail(PAGE))
    assert again.status_code == 200
