"""The glossary's terms are sorted, defined once and used."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
ENTRIES = re.findall(r"^- \*\*(.+)\*\*: (.+)$", GLOSSARY.read_text(), re.MULTILINE)
TERMS = [term for term, _ in ENTRIES]


@pytest.fixture(scope="module")
def texts() -> str:
    """Return the source, the pages and the documentation, without the glossary."""
    folders = [ROOT / "nwx", ROOT / "webapp", ROOT / "docs"]
    files = [
        path
        for folder in folders
        for kind in ("py", "html", "md")
        for path in folder.rglob(f"*.{kind}")
        if path != GLOSSARY
    ]
    return "\n".join(path.read_text() for path in files)


def test_every_line_is_an_entry() -> None:
    _, *lines = GLOSSARY.read_text().split("\n- ")
    assert len(ENTRIES) == len(lines)


def test_terms_are_alphabetical_and_defined_once() -> None:
    lower = [term.lower() for term in TERMS]
    assert lower == sorted(set(lower))


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_used(term: str, texts: str) -> None:
    words = r"\s+".join(re.escape(word) for word in term.split())
    plural = re.sub("y$", "(?:y|ies)", words)
    assert re.search(rf"\b{plural}(s|es)?\b", texts, re.IGNORECASE), f"{term} is used nowhere"
