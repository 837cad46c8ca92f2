"""Texts of real pages compared with those of BeautifulSoup with lxml.

The golden texts were made with bs4 4.15 and lxml 6.1 by people other than the authors of this
extractor. The rules differ: theirs add a space at each tag and include <noscript>; so words, not
spaces, are compared, with a tolerance.
"""

import json
import re
from collections import Counter
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator

from nwx.extract import PARSERS, extract
from nwx.model import Extract
from tests.conftest import SHARED_DATA

PAGES = SHARED_DATA / "golden" / "text" / "pages.json"


def _pages() -> list[dict[str, object]]:
    if not PAGES.is_file():
        return []
    pages: list[dict[str, object]] = json.loads(PAGES.read_text(encoding="utf-8"))
    return pages


def _read(shared_data: Path, page: dict[str, object], parser: str) -> Extract:
    name, _, inner = str(page["file"]).partition(".wacz/")
    data = (
        ZipFile(shared_data / f"{name}.wacz").read(inner)
        if inner
        else (shared_data / name).read_bytes()
    )
    record = next(iter(ArchiveIterator(BytesIO(data[int(str(page["offset"])) :]))))
    return extract(
        record.content_stream().read(),
        url=str(page["url"]),
        content_type_norm="html",
        content_type=record.http_headers.get_header("Content-Type", ""),
        parser=parser,
    )


def _agreement(one: Counter[str], other: Counter[str]) -> float:
    """Return the F1 of two bags."""
    return 2 * (one & other).total() / max(one.total() + other.total(), 1)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("page", _pages(), ids=lambda page: f"{page['n']:02}")
def test_page(shared_data: Path, page: dict[str, object], parser: str) -> None:
    found = _read(shared_data, page, parser)
    golden = (PAGES.parent / f"{page['n']:02}.txt").read_text(encoding="utf-8")
    assert found.title == " ".join(str(page["title"]).split())
    assert _agreement(Counter(_letters(found.content)), Counter(_letters(golden))) > 0.98
    if " " in golden[:100] and golden[:1000].isascii():
        words = (Counter(re.findall(r"\w+", text)) for text in (found.content, golden))
        assert _agreement(*words) > 0.98
    assert len([link for link in found.links if link.kind == "a"]) <= int(str(page["links"]))


def _letters(text: str) -> str:
    return re.sub(r"\s", "", text)
