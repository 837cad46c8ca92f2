"""Creates the images of the documentation from the sample archive.

python -m tests.docs.pictures [NAME…]
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from nwx.charts import fields
from nwx.charts.fields import Spec
from nwx.charts.pictures import draw_picture
from nwx.engine.base import Engine, open_engine
from nwx.model import IndexName
from nwx.settings import Settings
from tests.cli.conftest import run_nwx
from tests.kibana import PANELS, Panel, hits_of, with_hits
from tests.web.chromium import ARGUMENTS, find_browser
from tests.web.serving import serving
from webapp import create_app

ROOT = Path(__file__).parent.parent.parent
PICTURES = ROOT / "docs" / "pictures"
WIDE: ViewportSize = {"width": 1120, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 844}


@dataclass(frozen=True, slots=True)
class Shot:
    """A page to capture; `ready` selects an element that exists once the page is complete."""

    path: str
    ready: str
    scheme: Literal["light", "dark"] = "light"
    size: ViewportSize = field(default_factory=lambda: WIDE)


_CHART = "#chart[data-drawn]"
PAGES = {
    "search": Shot("/search?q=lamp", "main h2"),
    "explorer": Shot("/explore?by=month,status", _CHART),
    "explorer-dark": Shot("/explore?by=month,type&feature=bytes&chart=heat", _CHART, "dark"),
    "document": Shot("/documents/of?url=http://www.lantern.example/museum/", "#captures"),
    "trends": Shot("/trends?q=herring&q=lamp", _CHART),
    "links": Shot("/links?host=www.lantern.example", "main table"),
    "pictures": Shot("/pictures", "main img"),
    "words": Shot("/words?q=herring", "main table"),
    "hosts": Shot("/hosts", "main table"),
    "explorer-phone": Shot("/explore?by=month,type&feature=bytes&chart=share", _CHART, size=PHONE),
}


def main(names: list[str]) -> None:
    """Create the images with these names, or all of them."""
    PICTURES.mkdir(exist_ok=True)
    with sample() as engine:
        for panel in PANELS:
            if not names or f"kibana-{panel.name}" in names:
                drawn = draw(panel, hits_of(panel, engine.scan(IndexName.FACETS)))
                (PICTURES / f"kibana-{panel.name}.svg").write_bytes(drawn)
        if pages := {name: PAGES[name] for name in PAGES if not names or name in names}:
            photograph(engine, pages)


@contextmanager
def sample() -> Iterator[Engine]:
    """Yield the sample archive, imported and with built facets."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "archive"
        run_nwx(place, "import", ROOT / "sample" / "archive")
        run_nwx(place, "build-facets", "--min-captures", 1)
        run_nwx(place, "build", "links", "pictures")
        with open_engine(Settings(str(place)), read_only=True) as engine:
            yield engine


def draw(panel: Panel, hits: list[dict[str, Any]]) -> bytes:
    """Return the image of a panel in the size of the dashboard."""
    sized: Spec = {"width": 480, "height": 220, "autosize": {"type": "fit", "contains": "padding"}}
    spec = {**with_hits(panel.spec(), hits), **sized}
    return draw_picture(spec, fields.config("light", background=True), "svg")


def photograph(engine: Engine, pages: dict[str, Shot]) -> None:
    """Take screenshots of pages in a browser."""
    app = create_app(engine, replay_port=1)
    with serving(app) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(ARGUMENTS))
        for name, shot in pages.items():
            _photograph(browser, PICTURES / f"{name}.png", address, shot)
        browser.close()


def _photograph(browser: Browser, file: Path, address: str, shot: Shot) -> None:
    context = browser.new_context(viewport=shot.size, color_scheme=shot.scheme)
    page = context.new_page()
    page.goto(address + shot.path)
    page.wait_for_selector(shot.ready)
    page.screenshot(path=file)
    context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
