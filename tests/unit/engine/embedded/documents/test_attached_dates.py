"""Look-ups of attached indices are cached in a file, which is used only while it is valid."""

import shutil
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents import attached_dates
from nwx.model import Dates
from nwx.query.question import Question
from nwx.query.tree import All
from tests.conformance.archive import also, batch, page

PAGES = [page(f"http://example.org/{number}", "2010", f"page {number}") for number in range(20)]
OTHERS = [Dates(f"http://gone.example/{n} sha1:X", (("20010101000000", "web"),)) for n in range(50)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An archive with dates in an attached index."""
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.write(batch(PAGES))
        engine.refresh()
        engine.append_dates([*OTHERS, *(also(one, "2015") for one in PAGES)], into="more")
    return tmp_path / "archive"


def dates(folder: Path) -> dict[str, list[str]]:
    """Return the years of each page in search results."""
    with EmbeddedEngine(folder, read_only=True) as engine:
        hits = engine.search(Question(All(), limit=100)).hits
        return {hit.url.rpartition("/")[2]: [date[:4] for date in hit.dates] for hit in hits}


def every(*years: str) -> dict[str, list[str]]:
    return {str(number): list(years) for number in range(20)}


def test_what_was_looked_up_is_read_from_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached_dates, "_ALL_HERE", "SELECT 1, 1 WHERE ? = ? + 1")
    assert dates(folder) == every("2010", "2015")
    attached_dates.joined_file(EmbeddedEngine(folder)._folder, "more").unlink()
    assert dates(folder) == every("2010")


def test_what_came_since_is_looked_up(folder: Path) -> None:
    late = page("http://example.org/late", "2012", "late")
    with EmbeddedEngine(folder) as engine:
        file = attached_dates.joined_file(engine._folder, "more")
        before = file.read_bytes()
        engine.append_dates([also(PAGES[3], "2016"), also(late, "2017")], into="more")
    assert file.read_bytes() == before, "too little to write it anew"
    with EmbeddedEngine(folder) as engine:
        engine.write(batch([late]))
    assert dates(folder) == every("2010", "2015") | {
        "3": ["2010", "2015", "2016"],
        "late": ["2012", "2017"],
    }


def test_a_damaged_file_is_not_needed(folder: Path) -> None:
    file = attached_dates.joined_file(EmbeddedEngine(folder)._folder, "more")
    for content in (b"", b"PK\x03\x04 nothing", file.read_bytes()[:-500]):
        file.write_bytes(content)
        assert dates(folder) == every("2010", "2015")


def test_an_index_restored_from_a_copy_is_looked_up_anew(folder: Path) -> None:
    index = folder / "dates" / "more"
    shutil.copytree(index, folder.parent / "copy")
    with EmbeddedEngine(folder) as engine:
        engine.append_dates([also(one, "2016", "2017") for one in reversed(PAGES)], into="more")
    assert dates(folder) == every("2010", "2015", "2016", "2017")
    shutil.rmtree(index)
    shutil.copytree(folder.parent / "copy", index)
    assert dates(folder) == every("2010", "2015")


def test_the_file_goes_with_the_index(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        file = attached_dates.joined_file(engine._folder, "more")
        assert file.exists()
        engine.detach_dates("more")
    assert not file.exists()
    assert dates(folder) == every("2010")


def test_archives_made_before_can_have_indices_attached(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path) as engine:
        engine.write(batch(PAGES))
        engine.refresh()
        engine._writing().db.execute("DROP TABLE attached")
    assert dates(tmp_path) == every("2010")
    with EmbeddedEngine(tmp_path) as engine:
        engine.append_dates([also(PAGES[0], "2015")], into="more")
    assert dates(tmp_path)["0"] == ["2010", "2015"]
