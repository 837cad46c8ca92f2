"""Responses of the synthetic web."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.rendering.made_site.addresses import (
    ADS,
    API,
    SHARED,
    SitePage,
    page_of_resource,
    site_pages,
)
from tests.rendering.made_site.markup import page_html, text
from tests.rendering.made_site.pictures import TYPES, image
from tests.rendering.made_site.scripts import (
    LIBRARY,
    MODULE_LIBRARY,
    imported_style,
    later_module,
    module_script,
    page_script,
    page_style,
    theme_style,
)

HTML, CSS, SCRIPT, JSON = "text/html", "text/css", "text/javascript", "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; `location` is the target of a redirect."""

    content_type: str = HTML
    body: bytes = b""
    status: int = 200
    location: str = ""


_MISSING = Answer(body=b"<title>Not found</title><h1>Not found</h1>", status=404)


class MadeSite:
    """The sites with `pages` pages in total; `served` counts page requests."""

    def __init__(self, count_: int = 240, seed: int = 13) -> None:
        self.pages = site_pages(count_, seed)
        self._paths = {(page.host, page.path): page for page in self.pages}
        self._served = count(1)

    def answer(self, method: str, url: str, cookies: str = "") -> Answer:
        """Return the response to a request."""
        parts = urlsplit(url)
        page = self._paths.get((parts.netloc, parts.path))
        if page:
            return Answer(f"{HTML}; charset=utf-8", self._html(page, cookies))
        number = page_of_resource(parts.path)
        if number is not None and number < len(self.pages):
            name = parts.path.rpartition("/")[2]
            return _own_answer(self.pages[number], method, name)
        others = {SHARED: _shared_answer, ADS: _ads_answer, API: _api_answer}
        make = others.get(parts.netloc)
        return make(parts.path, parts.query) if make else self._index(parts.netloc, parts.path)

    def _html(self, page: SitePage, cookies: str) -> bytes:
        chance = random.Random(f"links:{page.number}")
        links = chance.sample(self.pages, min(5, len(self.pages)))
        return page_html(page, next(self._served), "visitor=" in cookies, links)

    def _index(self, host: str, path: str) -> Answer:
        if path != "/":
            return _MISSING
        links = "".join(
            f'<li><a href="{page.path}">{page.number}</a>'
            for page in self.pages
            if page.host == host
        )
        return Answer(HTML, f"<title>{host}</title><ul>{links}</ul>".encode())


_OWN: dict[str, tuple[str, Callable[[SitePage], bytes]]] = {
    "style.css": (CSS, page_style),
    "more.css": (CSS, imported_style),
    "frame.css": (CSS, lambda page: f"p {{ color: hsl({page.number} 90% 40%) }}".encode()),
    "page.js": (SCRIPT, page_script),
    "main.mjs": (SCRIPT, module_script),
    "later.mjs": (SCRIPT, later_module),
    "data.json": (JSON, lambda page: _data(page)),
    "fresh.json": (JSON, lambda page: json.dumps({"words": f"Fresh {page.number}"}).encode()),
    "frame.html": (HTML, lambda page: _frame(page)),
    "icons.woff2": ("font/woff2", lambda page: _font()),
}


def _own_answer(page: SitePage, method: str, name: str) -> Answer:
    """Return the response for a resource of a single page."""
    if name == "count":
        found = {"count": page.number * 7 + 1}
        return Answer(JSON, json.dumps(found).encode()) if method == "POST" else _MISSING
    if name.startswith("dead."):
        return _MISSING
    if name == "moved.png":
        return Answer(status=302, location=f"{page.own}target.png")
    if name in _OWN:
        content_type, make = _OWN[name]
        return Answer(content_type, make(page))
    if name.startswith("wide-"):
        width = int(name[5:].partition(".")[0])
        return Answer("image/jpeg", image(f"{page.own}{name}", (width, width // 4)))
    return _image(f"{page.own}{name}")


def _image(name: str) -> Answer:
    content_type = TYPES.get(name.rpartition(".")[2])
    return Answer(content_type, image(name)) if content_type else _MISSING


def _data(page: SitePage) -> bytes:
    chance = random.Random(f"data:{page.number}")
    rows = [{"name": text(chance, 2), "value": chance.randrange(1_000)} for _ in range(8)]
    return json.dumps(rows).encode()


def _frame(page: SitePage) -> bytes:
    return (
        f"<!doctype html><title>Frame</title><link rel=stylesheet href={page.own}frame.css>"
        f"<p>A frame of page {page.number}</p><img src={page.own}frame.png>"
    ).encode()


@cache
def _font() -> bytes:
    """Return a font shipped with pywb, which playback needs, so that it is always installed."""
    found = find_spec("pywb")
    assert found is not None and found.origin is not None
    name = "glyphicons-halflings-regular.woff2"
    return (Path(found.origin).parent / "static" / "fonts" / name).read_bytes()


def _shared_answer(path: str, query: str) -> Answer:
    name = path.lstrip("/")
    if name == "library.js":
        return Answer(SCRIPT, LIBRARY)
    if name == "library.mjs":
        return Answer(SCRIPT, MODULE_LIBRARY)
    if name == "weather.html":
        words = "<title>Weather</title><p>Fog, and no ferry</p><img src=/fog.png>"
        return Answer(HTML, words.encode())
    if name.startswith("theme-"):
        return Answer(CSS, theme_style(int(name[6])))
    return _image(name)


def _ads_answer(path: str, query: str) -> Answer:
    if path.startswith("/banner/"):
        return Answer("image/png", image(path, (468, 60)))
    if path == "/pixel.gif":
        return Answer("image/gif", image("pixel.gif", (1, 1)))
    return Answer("text/plain", b"seen")


def _api_answer(path: str, query: str) -> Answer:
    if path == "/jsonp":
        asked = parse_qs(query)
        found = json.dumps({"words": f"From afar for {asked['page'][0]}"})
        return Answer(SCRIPT, f"{asked['callback'][0]}({found});".encode())
    words = text(random.Random(path), 3)
    return Answer(JSON, json.dumps({"words": words}).encode())
