"""Fixtures for the tests of the pages: a small archive, its application, a server, a browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, Page, sync_playwright

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.engine.indices.picture_index import Appearance, Picture
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.quality.monitor.state import write_state
from tests.web.addresses import FIRST, SECOND, THIRD
from tests.web.archive import HOME, batch
from tests.web.axe import WIDE
from tests.web.checked_archive import write_checked
from tests.web.chromium import ARGUMENTS, find_browser
from tests.web.compiled_templates import overlay_with_code
from tests.web.monitored import seen_crawl
from tests.web.serving import serving
from tests.web.triples_archive import write_triples
from webapp import create_app
from webapp.site.words import TranslatedEnvironment

REPLAY_PORT = 9_999
LINKS = (
    LinkScore("http://www.example.org/slate", 0.5, "content", {"near": 0.5}, "keyword slate"),
    LinkScore("http://ads.example.org/", None, "advertisement", {}, "blacklist host"),
)
PICTURE = Picture(
    *(FIRST, f"{HOME}picture.png", "org,example)/picture.png", "www.example.org", "example.org"),
    *("default", "20100101000000", "sha1:X", "image/png", 30, 20),
    hash=0x00FF00FF00FF00FF,
    colours=("blue", "white"),
)
ALIKE = replace(PICTURE, id=SECOND, url=f"{HOME}copy.png", hash=0x00FF00FF00FF00FE)
SHOWN = Appearance(
    *(THIRD, HOME, "Quarry <b>museum</b>", "20100101000000", "default", PICTURE.urlkey, FIRST),
    alt="a quarry",
    around="the old quarry in winter",
)
SCORE = DocumentScore("stones", "v1", FIRST, HOME, "20100101000000", 0.5, links=LINKS)


@pytest.fixture(scope="session", autouse=True)
def _templates_compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TranslatedEnvironment, "overlay", overlay_with_code)
        yield


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An embedded engine with the small archive."""
    folder = tmp_path_factory.mktemp("web") / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.create()
        engine.write(batch())
        engine.refresh()
        engine.crawl_index().save_specification("stones", "v1", "name = 'stones'\n")
        engine.crawl_index().put_scores([SCORE])
        write_checked(engine, folder.parent / "renders")
        write_state(engine.quality_index(), seen_crawl("watched"))
        reopen = partial(EmbeddedEngine, folder, read_only=True)
        invert_links(engine, reopen, InlinkBuildOptions(workers=1))
        engine.picture_index().put([PICTURE, ALIKE], [SHOWN])
        yield engine


@pytest.fixture(scope="session")
def app(engine: Engine) -> Flask:
    """The application of the small archive; its playback links use a port without a server."""
    triples = write_triples(Path(engine.address))
    return create_app(engine, replay_port=REPLAY_PORT, title="Quarry archive", triples=triples)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A client without cookies."""
    return app.test_client()


@pytest.fixture(scope="session")
def server(app: Flask) -> Iterator[str]:
    """The address of the application on the same server as `nwx serve`."""
    with serving(app) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium; tests that need one fail if it is missing."""
    path = find_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that must log nothing to the console: our content security policy is strict."""
    with _silent_page(browser) as page:
        yield page


@pytest.fixture(scope="module")
def _shared_page(browser: Browser) -> Iterator[Page]:
    with _silent_page(browser) as page:
        yield page


@pytest.fixture
def open_page(_shared_page: Page) -> Page:
    """A silent page shared by tests that only read, as opening a page takes longer than these."""
    _shared_page.set_viewport_size(WIDE)
    _shared_page.emulate_media(color_scheme="light")
    return _shared_page


@contextmanager
def _silent_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    yield page
    context.close()
    assert said == []
