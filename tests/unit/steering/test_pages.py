"""Pages are read from the open file, from the path in the ledger, or from the index; URL lists."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.captures import PagePlace, page_places
from nwx.engine.base import open_engine
from nwx.engine.indices.crawl_index import DocumentScore
from nwx.errors import SourceError
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.steering import pages as places_module
from nwx.steering.pages import (
    PageBatch,
    PageReader,
    PageSweeps,
    PageTask,
    page_task,
    unanalysed_pages,
    url_list_view,
)
from nwx.warc.sources import ArchiveSource, FilePlaces, expand
from tests.hostile_analysis import STONES, stone_pages
from tests.warcs import Page, write_warc

NOWHERE = ArchiveSource("a.warc.gz", "/nowhere/a.warc.gz", None)

BASE = "http://a.test/x/list.xml"
SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"><url><loc> http://a.test/flood </loc>
<lastmod>2014-05-02</lastmod><n:news><n:title>The flood</n:title></n:news>
<n:image><n:loc>http://a.test/i.png</n:loc></n:image></url></urlset>"""
INDEX = b"<sitemapindex><sitemap><loc>http://a.test/1.xml.gz</loc></sitemap></sitemapindex>"
RSS = b"""<rss><channel><title>All</title><link>http://a.test/</link>
<item><title>Dykes &amp; more
</title><link>/dyke</link>
<pubDate>Fri, 02 May 2014 10:00:00 +0200</pubDate></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="/"/>
<entry><title>Dykes</title><link rel="edit" href="/edit"/>
<link href="../dyke"/><updated>2014-05-02T08:00:00Z</updated></entry>
</feed>"""
BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaa">]><urlset><url><loc>http://a.test/&a;</loc></url></urlset>'


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
    class Places(FilePlaces):
        def path(self, collection: str, name: str) -> str:
            return "/files/a.wacz"

    place = tasks(settings, None)[0].place._replace(source_file="a.wacz#archive/b.warc.gz")
    with open_engine(settings) as engine:
        source = page_task(Places(engine), place).source
    assert source is not None
    assert (source.path, source.member) == ("/files/a.wacz", "archive/b.warc.gz")


TASK = PageTask(PagePlace("id", "http://a.example/", "2015", "c", "a.warc.gz", 0), None)


def test_pages_without_scores_in_the_order_of_their_places(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"))
    pages = [*stone_pages(4), Page("http://a.example/missing", "20150101000000", status="404 No")]
    path = write_warc(tmp_path / "a.warc.gz", [pages[3], *pages[:3], *pages[3:]])
    with open_engine(settings) as engine:
        engine.create()
        import_files(engine, settings, expand([str(path)]), ImportOptions(jobs=1))
        [batch] = unanalysed_pages(engine, STONES, "v")
        assert (batch.pages, batch.captures) == (4, 6)
        assert [task.place.url[-2:] for task in batch.tasks] == ["/3", "/0", "/1", "/2"]
        assert all(task.source and task.source.path == str(path) for task in batch.tasks)
        done = batch.tasks[0].place
        score = DocumentScore("stones", "v", done.document_id, done.url, done.timestamp, 1)
        engine.crawl_index().put_scores([score])
        [batch] = unanalysed_pages(engine, STONES, "v")
        assert [task.place.url[-2:] for task in batch.tasks] == ["/0", "/1", "/2"]
        [batch] = unanalysed_pages(engine, STONES, "another")
        assert len(batch.tasks) == 4
        [batch] = unanalysed_pages(engine, replace(STONES, collection="other"), "v")
        assert batch.tasks == []


def test_an_archive_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places_module, "_BATCH_PAGES", 3)
    settings = Settings(str(tmp_path / "archive"))
    pages = stone_pages(8)
    again = [replace(page, timestamp="20160101000000") for page in pages]
    other = [replace(page, body=page.body + b"!") for page in again]
    path = write_warc(tmp_path / "a.warc.gz", [*pages, *again, *other])
    with open_engine(settings) as engine:
        engine.create()
        import_files(engine, settings, expand([str(path)]), ImportOptions(jobs=1))
        batches = list(unanalysed_pages(engine, STONES, "v"))
    assert len(batches) > 3
    found = [task.place for batch in batches for task in batch.tasks]
    assert len(found) == len({place.document_id for place in found}) == 16
    assert sum(place.timestamp.startswith("2015") for place in found) == 8


def test_a_sweep_that_is_asked_for_on_the_way_of_another_comes_after_it() -> None:
    begun = []

    def begin() -> Iterator[PageBatch]:
        begun.append(len(begun))
        return iter([PageBatch([TASK], 1, 1), PageBatch([TASK, TASK], 2, 2)])

    sweeps = PageSweeps(begin)
    assert sweeps.is_over
    assert sweeps.next_pages() == []
    sweeps.ask()
    sweeps.ask()
    assert sweeps.next_pages() == [TASK]
    sweeps.ask()
    numbers = []
    while not sweeps.is_over:
        numbers.append(len(sweeps.next_pages()))
    assert numbers == [2, 0, 1, 2, 0]
    assert begun == [0, 1]


def test_lists_of_urls_are_pages_and_what_changed_since_is_new(tmp_path: Path) -> None:
    found = Settings(str(tmp_path / "archive"))
    sitemap = b"<urlset><url><loc>http://a.test/old</loc><lastmod>2015-02-01</lastmod></url><url>"
    sitemap += b"<loc>http://a.test/same</loc><lastmod>2014-01-01</lastmod></url></urlset>"
    made = [
        Page("http://a.test/old", "20150101000000", b"<p>old"),
        Page("http://a.test/same", "20150101000000", b"<p>same"),
        Page("http://a.test/robots.txt", "20150301000000", b"Sitemap: /s.xml", "text/plain"),
        Page("http://a.test/s.xml", "20150301000000", sitemap, "application/xml"),
        Page("http://a.test/a.txt", "20150301000000", b"no list", "text/plain"),
    ]
    with open_engine(found) as engine:
        engine.create()
        warc = write_warc(tmp_path / "a.warc.gz", made)
        import_files(engine, found, expand([str(warc)]), ImportOptions(jobs=1))
        (batch,) = unanalysed_pages(engine, STONES, "1")
    with PageReader(found) as reader:
        views = {task.place.url[13:]: reader.page(task) for task in batch.tasks}
        assert {name: [link.url[13:] for link in view.links] for name, view in views.items()} == {
            "/old": [],
            "/same": [],
            "/robots.txt": ["/s.xml"],
            "/s.xml": ["/old", "/same"],
        }
        assert reader.captured(views["/s.xml"]) == {"http://a.test/same"}


@pytest.mark.parametrize(
    ("data", "link"),
    [
        (SITEMAP, ("http://a.test/flood", "The flood", "20140502000000")),
        (gzip.compress(SITEMAP, mtime=0), ("http://a.test/flood", "The flood", "20140502000000")),
        (SITEMAP[:-9], ("http://a.test/flood", "The flood", "20140502000000")),
        (INDEX, ("http://a.test/1.xml.gz", "", "")),
        (RSS, ("http://a.test/dyke", "Dykes & more", "20140502080000")),
        (ATOM, ("http://a.test/dyke", "Dykes", "20140502080000")),
    ],
)
def test_entries_are_links(data: bytes, link: tuple[str, str, str]) -> None:
    found = url_list_view(data, BASE, "20150101000000")
    assert [(one.url, one.text, one.changed) for one in found.links] == [link]
    assert found.content == ""


@pytest.mark.parametrize("data", [BOMB, b"<url>" * 1_000, b"\x1f\x8bno", b"", b"\xff<", b"text"])
def test_what_is_no_list_or_hostile_has_no_links(data: bytes) -> None:
    assert url_list_view(data, BASE, "20150101000000").links == ()


def test_robots_txt_names_sitemaps() -> None:
    text = b"User-agent: *\nDisallow: /a\n sitemap: /s.xml\nSitemap:http://b.test/t.xml.gz\n"
    found = url_list_view(text, "http://a.test/robots.txt", "20150101000000")
    assert [one.url for one in found.links] == ["http://a.test/s.xml", "http://b.test/t.xml.gz"]
