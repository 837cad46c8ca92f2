"""The pictures index: images found by page texts, by measures, and by similarity."""

from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.picture_index import Appearance, Box, ImageSize, Picture, PictureQuestion
from nwx.errors import QueryError, WindowError
from nwx.keys import document_id, document_key
from nwx.model import Batch, Dates, Document, Extract, IndexName, SourceFile
from nwx.pictures.build import build_pictures
from nwx.query.question import HiddenDocuments, HiddenSpan
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource
from tests.pictured import CHART, image_records, page_records
from tests.warc_records import write_records

DAY = "20100102030405"


def _picture(url: str, side: int, hash: int | None, *colours: str, host: str = "a.org") -> Picture:
    return Picture(
        id=document_id(f"{url} sha1:X"),
        url=url,
        urlkey=f"org,a)/{url.rpartition('/')[2].lower()}",
        host=host,
        domain=host,
        collection="web",
        timestamp=DAY,
        digest="sha1:X",
        content_type="image/png",
        width=side,
        height=side // 2,
        content_length=99,
        hash=hash,
        colours=colours,
    )


LOGO = _picture("http://a.org/img/Old-Logo.PNG", 40, (1 << 64) - 1, "red")
HARBOUR = _picture("http://a.org/hafen%20m%C3%BCnchen.jpg", 1600, 0b1011, "blue", "white")
TOWER = _picture("http://b.org/IMG_0001.jpg", 640, 0b1000, "blue", host="b.org")
PLAIN = _picture("http://a.org/plain.gif", 200, None)
PICTURES = (LOGO, HARBOUR, TOWER, PLAIN)


def _shown(picture: Picture, page: str, **words: str) -> Appearance:
    return Appearance(
        page=document_id(page),
        page_url=page,
        page_title=f"Page {page}",
        page_timestamp=DAY,
        page_collection="web",
        urlkey=picture.urlkey,
        picture=picture.id,
        **words,
    )


ON_FIRST = _shown(HARBOUR, "http://a.org/", alt="Sailing ships", around="in the evening at Tōkyō")
ON_SECOND = _shown(HARBOUR, "http://a.org/2", title="Boats", around="ships and ships")
OF_TOWER = _shown(TOWER, "http://b.org/", alt="東京タワー", anchor="The tower with ships")
LOST = replace(_shown(LOGO, "http://a.org/3", alt="lost words"), picture="", urlkey="org,gone)/x")
APPEARANCES = (ON_FIRST, ON_SECOND, OF_TOWER, LOST)


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """An archive with these pictures."""
    engine.picture_index().put(PICTURES, APPEARANCES)
    return engine


def _found(engine: Engine, query: str = "", **asked: object) -> set[str]:
    result = engine.picture_index().search(PictureQuestion(query, **asked))  # type: ignore[arg-type]
    assert (result.total.value, result.total.relation) == (len(result.pictures), "eq")
    return {found.picture.url.rpartition("/")[2] for found in result.pictures}


LOGO_NAME, HARBOUR_NAME, TOWER_NAME = "Old-Logo.PNG", "hafen%20m%C3%BCnchen.jpg", "IMG_0001.jpg"


def test_an_archive_without_pictures_has_none(engine: Engine) -> None:
    index = engine.picture_index()
    assert not index.is_made()
    assert index.search(PictureQuestion("x")).pictures == ()
    assert index.pictures_of([LOGO.id]) == {}
    assert index.appearances_at([LOGO.urlkey]) == index.appearances_of(LOGO.id, 5) == []
    assert index.appearance_counts([LOGO.urlkey]) == {}
    assert index.similar(5, 10) == []
    assert index.remove([LOGO.id]) == engine.delete(IndexName.PICTURES, [LOGO.id]) == 0
    assert index.state("mark") is None
    index.clear()
    assert engine.count(IndexName.PICTURES) == 0


def test_pictures_are_found_by_what_pages_say(filled: Engine) -> None:
    assert _found(filled) == {LOGO_NAME, HARBOUR_NAME, TOWER_NAME, "plain.gif"}
    assert _found(filled, "ships") == {HARBOUR_NAME, TOWER_NAME}
    assert _found(filled, "sailing SHIPS") == {HARBOUR_NAME}
    assert _found(filled, "sailing boats") == set()  # no page has both words
    assert _found(filled, "munchen boats") == {HARBOUR_NAME}  # the name counts for every page
    assert _found(filled, "logo") == {LOGO_NAME}
    assert _found(filled, "lost") == set()
    assert _found(filled, "tokyo") == {HARBOUR_NAME}
    assert _found(filled, "東京") == {TOWER_NAME}
    assert _found(filled, "京東") == set()
    assert _found(filled, '"ships in the"') == set()
    assert _found(filled, '"and ships"') == {HARBOUR_NAME}
    assert _found(filled, "sail*") == {HARBOUR_NAME}
    assert _found(filled, "logo OR tower") == {LOGO_NAME, TOWER_NAME}
    assert _found(filled, "ships NOT evening") == {HARBOUR_NAME, TOWER_NAME}
    assert _found(filled, "ships NOT tower NOT munchen") == set()
    assert _found(filled, "ships host:b.org") == {TOWER_NAME}
    assert _found(filled, "-host:b.org ships") == {HARBOUR_NAME}


def test_the_words_that_match_are_given(filled: Engine) -> None:
    index = filled.picture_index()
    (found,) = index.search(PictureQuestion("sailing")).pictures
    assert found == (HARBOUR, ON_FIRST)
    (named,) = index.search(PictureQuestion("logo")).pictures
    assert named == (LOGO, None)


def test_pictures_are_filtered_by_measures(filled: Engine) -> None:
    later = replace(PLAIN, id=document_id("later"), url="http://a.org/later.gif", collection="new")
    later = replace(later, timestamp="20111231235959", urlkey="org,a)/later.gif")
    filled.picture_index().put([later], [_shown(later, "http://a.org/4", alt="ships")])
    assert _found(filled, collections=("new",)) == _found(filled, years=("2011",)) == {"later.gif"}
    assert _found(filled, "ships", years=("2011",), hosts=("a.org",)) == {"later.gif"}
    assert _found(filled, "ships", collections=("web",)) == {HARBOUR_NAME, TOWER_NAME}
    assert _found(filled, "ships", years=("2010", "2012")) == {HARBOUR_NAME, TOWER_NAME}
    assert _found(filled, years=("2010",), collections=("new",)) == set()
    filled.picture_index().remove([later.id])
    assert _found(filled, size=ImageSize.ICON) == {LOGO_NAME}
    assert _found(filled, size=ImageSize.SMALL) == {"plain.gif"}
    assert _found(filled, size=ImageSize.MEDIUM) == {TOWER_NAME}
    assert _found(filled, size=ImageSize.LARGE) == {HARBOUR_NAME}
    assert _found(filled, colours=("blue",)) == {HARBOUR_NAME, TOWER_NAME}
    assert _found(filled, "ships", colours=("blue", "white")) == {HARBOUR_NAME}
    assert _found(filled, hosts=("b.org", "c.org")) == {TOWER_NAME}
    assert _found(filled, "ships", domains=("a.org",)) == {HARBOUR_NAME}
    assert _found(filled, "host:a.org") == {LOGO_NAME, HARBOUR_NAME, "plain.gif"}


def test_the_largest_come_first_page_by_page(filled: Engine) -> None:
    index = filled.picture_index()
    pages = [index.search(PictureQuestion(limit=2, offset=start)) for start in (0, 2, 4)]
    assert [page.total.value for page in pages] == [4, 4, 4]
    assert [one.picture for page in pages for one in page.pictures] == [
        *(HARBOUR, TOWER, PLAIN, LOGO)
    ]
    with pytest.raises(WindowError):
        index.search(PictureQuestion(offset=10_000))


def test_what_cannot_be_asked_of_pictures_is_refused(filled: Engine) -> None:
    for query in ("sh?ps", "url:x", "status_code:200", "ships OR host:b.org", "date:2010"):
        with pytest.raises(QueryError):
            filled.picture_index().search(PictureQuestion(query))


def test_similar_pictures_are_found_by_hash(filled: Engine) -> None:
    index = filled.picture_index()
    assert index.similar(0b1001, 10) == [(HARBOUR, 1), (TOWER, 1)]
    assert index.similar(0b1000 ^ 0x3FF << 8, 10) == [(TOWER, 10)]
    assert index.similar(0b1000 ^ 0x7FF << 8, 10) == []
    assert index.similar(0b1001, 1) == [(HARBOUR, 1)]
    assert index.similar((1 << 64) - 2, 10) == [(LOGO, 1)]
    index.put([replace(PLAIN, hash=0b1001)])
    assert index.similar(0b1001, 1) == [(replace(PLAIN, hash=0b1001), 0)]


def test_hidden_pictures_and_the_words_of_hidden_pages_do_not_show(filled: Engine) -> None:
    index = filled.picture_index()
    of_page = HiddenDocuments("1", documents=frozenset({ON_FIRST.page}))
    assert _found(filled, "sailing", hidden=of_page) == set()
    assert _found(filled, "boats", hidden=of_page) == {HARBOUR_NAME}
    assert index.appearances_of(HARBOUR.id, 9, of_page) == [ON_SECOND]
    of_picture = HiddenDocuments("2", documents=frozenset({HARBOUR.id}))
    assert _found(filled, "ships", hidden=of_picture) == {TOWER_NAME}
    assert _found(filled, hidden=of_picture) == {LOGO_NAME, TOWER_NAME, "plain.gif"}
    assert index.similar(0b1001, 10, hidden=of_picture) == [(TOWER, 1)]
    span = HiddenSpan("20100101000000", "20101231235959", "web")
    of_span = HiddenDocuments("3", spans=(span,), apart=frozenset({TOWER.id}))
    assert _found(filled, hidden=of_span) == {TOWER_NAME}
    assert _found(filled, "ships", hidden=of_span) == set()
    assert index.appearances_of(TOWER.id, 9, of_span) == []
    assert index.similar(0b1001, 10, hidden=of_span) == [(TOWER, 1)]
    elsewhere = HiddenDocuments("4", spans=(span._replace(collection="other"),))
    assert _found(filled, "ships", hidden=elsewhere) == {HARBOUR_NAME, TOWER_NAME}
    always = HiddenDocuments("5", spans=(HiddenSpan("0" * 14, "9" * 14, "other"),))
    assert _found(filled, "ships", hidden=always) == {HARBOUR_NAME, TOWER_NAME}
    always = HiddenDocuments("6", spans=(HiddenSpan("0" * 14, "9" * 14),))
    assert _found(filled, hidden=always) == set()


def test_pictures_are_found_by_where_they_were_taken(filled: Engine) -> None:
    index = filled.picture_index()
    fiji = replace(PLAIN, latitude=-17.5, longitude=179.5, taken="20140325121732")
    port = replace(HARBOUR, latitude=48.0, longitude=-0.0)
    index.put([fiji, port])
    assert index.pictures_of([fiji.id])[fiji.id] == fiji
    assert _found(filled, box=Box(-10, 40, 20, 50)) == {HARBOUR_NAME}
    assert _found(filled, box=Box(-10, 40, 0, 48)) == {HARBOUR_NAME}
    assert _found(filled, box=Box(0.1, 40, 20, 50)) == set()
    assert _found(filled, box=Box(170, -20, -170, 0)) == {"plain.gif"}
    assert _found(filled, box=Box(-180, -90, 180, 90)) == {"plain.gif", HARBOUR_NAME}
    hidden = HiddenDocuments("1", documents=frozenset({port.id}))
    assert _found(filled, box=Box(-180, -90, 180, 90), hidden=hidden) == {"plain.gif"}
    index.put([], [ON_FIRST, ON_SECOND])  # servers copy picture fields into them
    assert _found(filled, "boats", box=Box(-1, 40, 20, 50)) == {HARBOUR_NAME}
    index.put([replace(fiji, latitude=None, longitude=None)])
    assert _found(filled, box=Box(-180, -90, 180, 90)) == {HARBOUR_NAME}
    index.remove([port.id])
    assert _found(filled, box=Box(-180, -90, 180, 90)) == set()


def test_appearances_are_kept_by_page_and_urlkey(filled: Engine) -> None:
    index = filled.picture_index()
    assert index.appearances_of(HARBOUR.id, 9) == sorted(
        [ON_FIRST, ON_SECOND], key=lambda one: one.page
    )
    assert index.appearance_counts([HARBOUR.urlkey, LOST.urlkey, "x"]) == {
        HARBOUR.urlkey: 2,
        LOST.urlkey: 1,
    }
    assert index.appearances_at([LOST.urlkey, "x"]) == [LOST]
    index.put([], [replace(LOST, picture=PLAIN.id)])
    assert _found(filled, "lost") == {"plain.gif"}
    index.put([], [replace(ON_FIRST, alt="Other things")])
    assert _found(filled, "sailing") == set()
    assert filled.count(IndexName.PICTURES) == len(PICTURES) + len(APPEARANCES)


def test_what_is_removed_is_gone(filled: Engine) -> None:
    index = filled.picture_index()
    assert index.remove([ON_SECOND.page, TOWER.id, "none"]) == 2
    assert _found(filled, "boats") == _found(filled, "tower") == set()
    assert _found(filled, "ships") == {HARBOUR_NAME}
    assert index.appearances_at([TOWER.urlkey]) == [replace(OF_TOWER, picture="")]
    assert index.similar(0b1000, 10) == [(HARBOUR, 2)]
    assert filled.delete(IndexName.PICTURES, [HARBOUR.id]) == 1
    ids = [entry["id"] for entry in filled.scan(IndexName.PICTURES)]
    assert ids == sorted(ids)
    assert len(ids) == filled.count(IndexName.PICTURES) == len(PICTURES) + len(APPEARANCES) - 3
    assert filled.stats()[IndexName.PICTURES].entries == len(ids)


def test_an_index_can_be_cleared(filled: Engine) -> None:
    index = filled.picture_index()
    index.put_state("mark", b"17")
    assert index.state("mark") == b"17"
    index.clear()
    assert index.state("mark") is None
    assert _found(filled) == set()
    index.put([LOGO])
    assert _found(filled, "logo") == {LOGO_NAME}


def test_pictures_are_built_from_an_archive(engine: Engine, tmp_path: Path) -> None:
    for name, records in (("pages", page_records()), ("images", image_records())):
        path = write_records(tmp_path / f"{name}.warc.gz", records)
        captures = _stored(engine, path)
        report = build_pictures(engine, workers=1)
        assert report.captures == captures
    assert _found(engine, "sailing") == {"ship.png"}
    assert CHART.rpartition("/")[2] in _found(engine, "coast")
    assert build_pictures(engine, workers=1).captures == 0


def _stored(engine: Engine, path: Path) -> int:
    """Write captures of a file, documents and dates like an import; count the captures."""
    found = [
        item.capture
        for item in ArchiveReader(ArchiveSource(path.name, str(path), None, ""), "web")
        if isinstance(item, CaptureRecord)
    ]
    dates = (
        Dates(document_key(one.url, one.digest), ((one.timestamp, one.collection),))
        for one in found
    )
    documents = tuple(Document(one, Extract()) for one in found)
    file = SourceFile("web", path.name, str(path), 1, "", 1, True)
    engine.write(Batch(documents, tuple(found), tuple(dates), files=(file,)))
    engine.refresh()
    return len(found)
