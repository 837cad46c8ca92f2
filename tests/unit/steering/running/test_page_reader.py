"""Pages are read from the file at hand, from where the ledger says, or from the index."""

from pathlib import Path

import pytest

from nwx.engine.open import open_engine
from nwx.errors import SourceError
from nwx.importing import ImportOptions, import_files
from nwx.page_places import page_places
from nwx.settings import Settings
from nwx.steering.running.page_reader import PageReader, PageTask, stored_source
from nwx.warc.sources import ArchiveSource, expand
from tests.hostile_analysis import stone_pages
from tests.warcs import write_warc

NOWHERE = ArchiveSource("a.warc.gz", "/nowhere/a.warc.gz", None)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(str(tmp_path / "archive"))
    path = write_warc(tmp_path / "a.warc.gz", stone_pages(4))
    with open_engine(found) as engine:
        engine.create()
        import_files(engine, found, expand([str(path)]), ImportOptions(jobs=1))
    return found


def tasks(settings: Settings, source: ArchiveSource | None) -> list[PageTask]:
    with open_engine(settings, read_only=True) as engine:
        found = list(page_places(engine.captures("", "\U0010ffff")))
    assert len(found) == 4
    return [PageTask(place, source) for place in found]


def test_records_are_read_wherever_their_file_is(tmp_path: Path, settings: Settings) -> None:
    at_hand = ArchiveSource("a.warc.gz", str(tmp_path / "a.warc.gz"), None)
    for source in (at_hand, NOWHERE, None):
        with PageReader(settings) as reader:
            pages = [reader.page(task) for task in tasks(settings, source)]
        assert [page.url for page in pages] == [f"http://stones.example/{n}" for n in range(4)]
        assert all(page.html for page in pages)


def test_another_record_at_the_place_is_not_taken(tmp_path: Path, settings: Settings) -> None:
    write_warc(tmp_path / "a.warc.gz", stone_pages(4, start=5))
    with PageReader(settings) as reader:
        [first, *_] = (reader.page(task) for task in tasks(settings, None))
    assert (first.url, first.html) == ("http://stones.example/0", b"")
    assert "music" in first.content


def test_what_is_nowhere_is_an_error(settings: Settings) -> None:
    [task, *_] = tasks(settings, NOWHERE)
    place = task.place._replace(document_id="none", source_file="b.warc.gz")
    with PageReader(settings) as reader, pytest.raises(SourceError, match="cannot be read"):
        reader.page(PageTask(place, NOWHERE))


def test_captured_urls_are_known(settings: Settings) -> None:
    [task, *_] = tasks(settings, None)
    with PageReader(settings) as reader:
        page = reader.page(task)
        assert {link.url for link in page.links} > reader.captured(page)
        assert reader.captured(page) == {"http://stones.example/1"}


def test_a_file_within_a_wacz_is_named_by_its_member(settings: Settings) -> None:
    place = tasks(settings, None)[0].place._replace(source_file="a.wacz#archive/b.warc.gz")
    source = stored_source(place, "/files/a.wacz")
    assert (source.path, source.member) == ("/files/a.wacz", "archive/b.warc.gz")
