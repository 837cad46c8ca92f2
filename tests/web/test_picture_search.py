"""Pictures on the pages and in the JSON API."""

import io
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from urllib.parse import urlencode

import pytest
import requests
from flask.testing import FlaskClient

from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.base import Engine, open_engine
from nwx.importing import ImportOptions, import_files
from nwx.pictures.build import build_pictures
from nwx.pictures.measures import measured
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.pictured import CHART, COPY, HOME, SHIP, drawing, image_records, page_records
from tests.warc_records import write_records
from tests.web.html import Page
from tests.web.serving import serving
from webapp import create_app
from webapp.server.connections import listen
from webapp.server.protection import SharedProtection
from webapp.server.service import PagesMaker, ServiceSettings

FORM = {"Content-Type": "multipart/form-data; boundary=x"}


@pytest.fixture(scope="module")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An archive with built pictures."""
    folder = tmp_path_factory.mktemp("pictured")
    path = write_records(folder / "a.warc.gz", [*page_records(), *image_records()])
    settings = Settings(str(folder / "archive"))
    with open_engine(settings) as engine:
        engine.create()
        import_files(engine, settings, list(expand([str(path)])), ImportOptions(jobs=1))
        build_pictures(engine, workers=1)
        yield engine


@pytest.fixture(scope="module")
def viewed(pictured: Engine) -> FlaskClient:
    return create_app(pictured).test_client()


def _urls(client: FlaskClient, address: str) -> list[str]:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    return [one["url"] for one in answer.get_json()["pictures"]]


def _form(image: bytes) -> bytes:
    head = b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
    return head + image + b"\r\n--x--\r\n"


def _ids(client: FlaskClient, query: str) -> list[str]:
    return [one["id"] for one in client.get(f"/api/pictures?q={query}").get_json()["pictures"]]


def test_the_grid_shows_what_matches(viewed: FlaskClient) -> None:
    page = viewed.get("/pictures?q=sailing")
    assert page.status_code == 200
    assert "<strong>1</strong> picture" in page.text
    assert "A sailing ship" in page.text
    assert "/thumbnail?url=" in page.text
    assert "<strong>4</strong> pictures" in viewed.get("/pictures").text
    assert "<strong>1</strong> picture" in viewed.get("/pictures?size=icon").text
    assert "<strong>0</strong> pictures" in viewed.get("/pictures?colour=pink").text


def test_labels_stay_beside_their_fields_on_narrow_screens(viewed: FlaskClient) -> None:
    shown = viewed.get("/pictures").text
    for label, field in (("Size", "select"), ("Colour", "select"), ("Year", "input")):
        assert f'<label>{label} <{field} name="{label.lower()}"' in shown


def test_a_page_beyond_the_last_picture_leads_to_the_first(viewed: FlaskClient) -> None:
    shown = viewed.get("/pictures?size=large&page=3").text
    assert "There are no further pages" in shown
    assert 'href="/pictures?size=large"' in shown


def test_a_search_without_pictures_gives_advice(viewed: FlaskClient) -> None:
    assert "Use fewer words" in viewed.get("/pictures?q=zebra").text


def test_pictures_are_filtered_by_collection_and_year(viewed: FlaskClient) -> None:
    (one,) = viewed.get("/api/pictures?q=sailing").get_json()["pictures"]
    year, collection = one["timestamp"][:4], one["collection"]
    own = f"/pictures?q=sailing&year={year}&collection={collection}"
    shown = viewed.get(own).text
    assert "<strong>1</strong> picture" in shown
    assert f'href="/pictures?q=sailing&amp;collection={collection}"' in shown
    assert "<strong>0</strong> pictures" in viewed.get("/pictures?q=sailing&year=1999").text
    assert _urls(viewed, "/api/pictures?collection=other") == []
    assert viewed.get("/pictures?year=99").status_code == 400


def test_results_lead_to_pictures_and_back(viewed: FlaskClient) -> None:
    assert "/pictures?q=harbour" in viewed.get("/search?q=harbour").text
    assert "/search?q=harbour" in viewed.get("/pictures?q=harbour").text


@pytest.mark.parametrize("query", ["type:files", "year:2010", "host:a.example OR ship", "(a"])
def test_a_query_that_pictures_do_not_know_is_left_out(viewed: FlaskClient, query: str) -> None:
    for address in ("/search", "/pictures"):
        shown = viewed.get(address, query_string={"q": query}).text
        assert 'href="/pictures"' in shown
        assert "/pictures?q=" not in shown


def test_a_picture_has_the_pages_that_show_it(viewed: FlaskClient) -> None:
    (id,) = _ids(viewed, "sailing")
    page = viewed.get(f"/pictures/{id}")
    assert page.status_code == 200
    assert "Harbour news" in page.text
    assert "A sailing ship" in page.text
    assert "b.jpg" in page.text  # a similar one
    assert viewed.get(f"/pictures/{'0' * 32}").status_code == 404
    answer = viewed.get(f"/api/pictures/{id}").get_json()
    assert answer["picture"]["width"] == 400
    assert HOME in [one["url"] for one in answer["shown_on"]]


def test_similar_pictures_of_an_upload(viewed: FlaskClient) -> None:
    assert viewed.get("/pictures/similar").status_code == 200
    image = (io.BytesIO(drawing("JPEG", (200, 150))), "x.jpg")
    sent = viewed.post("/pictures/similar", data={"image": image})
    assert sent.status_code == 303
    page = viewed.get(sent.headers["Location"])
    assert "<strong>2</strong> similar pictures" in page.text
    answer = viewed.post("/api/pictures/similar", data=drawing())
    assert {one["url"] for one in answer.get_json()["pictures"]} == {SHIP, COPY}
    hash = measured(drawing()).hash
    assert set(_urls(viewed, f"/api/pictures/similar?hash={hash:016x}&limit=5")) == {SHIP, COPY}


@pytest.mark.parametrize(
    "payload", [b"", b"no image", b"\x89PNG\r\n\x1a\nnothing"], ids=["none", "text", "broken"]
)
def test_what_is_no_image_is_refused(viewed: FlaskClient, payload: bytes) -> None:
    sent = viewed.post("/pictures/similar", data={"image": (io.BytesIO(payload), "x.png")})
    assert sent.status_code == 400
    assert viewed.post("/api/pictures/similar", data=payload).status_code == 400


def test_an_upload_is_bounded(viewed: FlaskClient) -> None:
    long = b"x" * ((8 << 20) + 1)
    assert viewed.post("/api/pictures/similar", data=long).status_code == 413
    sent = viewed.post("/pictures/similar", data=_form(long), headers=FORM)
    assert sent.status_code == 413
    assert "<h1>Too large</h1>" in sent.text
    other = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert viewed.post("/pictures/similar", headers=other).status_code == 403


def test_long_bodies_are_taken_where_the_pages_promise_it(pictured: Engine) -> None:
    image = drawing() + bytes((8 << 20) - len(drawing()))
    edited = urlencode({"text": "# " + "採" * 499_000, "action": "check"}).encode()
    archive, settings = Settings(pictured.address), ServiceSettings()
    with ExitStack() as stack:
        shared = SharedProtection.create(stack, settings.protection, 1)
        opened = PagesMaker(archive, settings, "127.0.0.1", None, shared).open(stack)
        listening = listen("127.0.0.1", 0)
        address = stack.enter_context(
            serving(opened.application, listening, body_limits=opened.body_limits)
        )

        def status(path: str, body: bytes, headers: Mapping[str, str] = {}) -> int:
            return requests.post(f"{address}{path}", body, headers=headers, timeout=60).status_code

        assert status("/api/pictures/similar", image) == 200
        assert status("/pictures/similar", _form(image), FORM) == 200
        assert status("/api/pictures/similar", image + b"x") == 413
        assert status("/pictures/similar", _form(image + bytes(1 << 16)), FORM) == 413
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert status("/crawls/new", edited, form) == 400
        assert status("/crawls/new", edited * 2, form) == 413
        assert status("/sparql", bytes((1 << 20) + 1), form) == 413


@pytest.mark.parametrize(
    "query", ["size=huge", "colour=plaid", "page=0", "q=url:x", "q=(a", "host=" + "x" * 3_000]
)
def test_what_makes_no_sense_is_refused(viewed: FlaskClient, query: str) -> None:
    page = viewed.get(f"/pictures?{query}")
    assert page.status_code == 400
    if "page" not in query:
        assert viewed.get(f"/api/pictures?{query}").status_code == 400
    assert viewed.get("/api/pictures/similar?hash=12").status_code == 400


def test_the_api_finds_by_words_and_measures(viewed: FlaskClient) -> None:
    assert _urls(viewed, "/api/pictures?q=coast&size=icon") == [CHART]
    assert _urls(viewed, "/api/pictures?q=sailing&host=pictured.example&colour=blue") == [SHIP]
    assert len(_urls(viewed, "/api/pictures?limit=2&offset=1")) == 2
    (found,) = viewed.get("/api/pictures?q=sailing").get_json()["pictures"]
    assert found["shown_on"]["alt"] == "A sailing ship"


def test_pages_are_well_formed_and_escape_what_pages_say(viewed: FlaskClient) -> None:
    (id,) = _ids(viewed, "sailing")
    for path in ("/pictures?q=<script>", "/pictures", f"/pictures/{id}", "/pictures/similar"):
        Page(viewed.get(path).text)
    assert "<script>alert" not in viewed.get("/pictures?q=<script>alert(1)").text


def test_an_archive_without_pictures_says_so(client: FlaskClient) -> None:
    page = client.get("/pictures?q=x")
    assert page.status_code == 200
    assert "nwx build-pictures" in page.text or "<strong>" in page.text


def test_hidden_pictures_and_words_of_hidden_pages_do_not_show(pictured: Engine) -> None:
    client = create_app(pictured).test_client()
    (id,) = _ids(client, "sailing")
    access = pictured.access_index()
    rule = AccessRule(
        "", Action.EXCLUDE, Scope(url=HOME, prefix="example,pictured)/", is_exact=True)
    )
    access.put([rule], "test")
    try:
        assert _ids(client, "sailing") == []
        assert "Harbour news" not in client.get(f"/pictures/{id}").text
        every = AccessRule("", Action.BLOCK, Scope(prefix="example,pictured)/"))
        access.put([every], "test")
        assert _urls(client, "/api/pictures") == []
        assert client.get(f"/pictures/{id}").status_code == 404
        assert client.get(f"/api/pictures/{id}").status_code == 404
        assert client.post("/api/pictures/similar", data=drawing()).get_json()["pictures"] == []
    finally:
        access.remove([one.id for one in access.rules().rules], "test")
