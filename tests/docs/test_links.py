"""Links between documents lead to files and headings that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _anchors(document: Path) -> set[str]:
    """Return the anchors that GitHub generates for the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", _CODE.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _is_broken(link: str, document: Path) -> bool:
    name, _, anchor = link.partition("#")
    target = (document.parent / name).resolve() if name else document
    return not target.exists() or bool(anchor and anchor not in _anchors(target))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    links = _LINK.findall(_CODE.sub("", document.read_text()))
    local = [link for link in links if not re.match(r"https?:", link)]
    assert [link for link in local if _is_broken(link, document)] == []
