"""The pictures that the documentation shows are there, and none besides."""

import re
from pathlib import Path

from nwx.charts.panels import PANELS
from tests.docs.pictures import PAGES, PICTURES

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_every_picture_is_shown_and_made_by_the_script() -> None:
    shown = {
        name
        for document in DOCS.glob("*.md")
        for name in re.findall(r"!\[[^\]]+\]\(pictures/([^)]+)\)", document.read_text())
    }
    made = {f"kibana-{panel.name}.svg" for panel in PANELS} | {f"{name}.png" for name in PAGES}
    assert shown == made == {path.name for path in PICTURES.iterdir()}
