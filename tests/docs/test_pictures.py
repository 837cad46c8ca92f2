"""The documentation uses every image that the script creates, and no others."""

import re
from pathlib import Path

from tests.docs.pictures import PAGES, PICTURES
from tests.kibana import PANELS

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]


def test_every_picture_is_shown_and_made_by_the_script() -> None:
    shown = {
        name
        for document in DOCUMENTS
        for name in re.findall(r"!\[[^\]]+\]\((?:docs/)?pictures/([^)]+)\)", document.read_text())
    }
    made = {f"kibana-{panel.name}.svg" for panel in PANELS} | {f"{name}.png" for name in PAGES}
    assert shown == made == {path.name for path in PICTURES.iterdir()}
