"""The pictures index as seen by viewers."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.access.restricted_engine import RestrictedEngine, restricted_to
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.picture_index import Appearance, Picture, PictureQuestion
from nwx.errors import EngineError
from nwx.keys import document_id, document_key
from nwx.model import Batch, Capture, Dates, IndexName
from tests.conformance.archive import capture

_PAGE = capture("http://a.example/", "2010", body="page")
_OTHER = capture("http://b.example/", "2010", body="other")
_IMAGE = capture("http://a.example/ship.png", "2010", body="ship")
_AGAIN = replace(_IMAGE, timestamp="20140101000000", source_file="again.warc.gz")


def _id(one: Capture) -> str:
    return document_id(document_key(one.url, one.digest))


_PICTURE = Picture(
    id=_id(_IMAGE),
    url=_IMAGE.url,
    urlkey=_IMAGE.urlkey,
    host="a.example",
    domain="a.example",
    collection=_IMAGE.collection,
    timestamp=_IMAGE.timestamp,
    digest=_IMAGE.digest,
    content_type="image/png",
    width=300,
    height=200,
    hash=7,
)


def _shown(page: Capture, alt: str) -> Appearance:
    return Appearance(
        page=_id(page),
        page_url=page.url,
        page_title="",
        page_timestamp=page.timestamp,
        page_collection=page.collection,
        urlkey=_IMAGE.urlkey,
        picture=_id(_IMAGE),
        alt=alt,
    )


_ON_PAGE, _ON_OTHER = _shown(_PAGE, "sailing"), _shown(_OTHER, "rowing")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Engine]:
    """Two pages that show an image, which was captured twice."""
    with EmbeddedEngine(tmp_path / "engine") as engine:
        engine.create()
        captures = (_PAGE, _OTHER, _IMAGE, _AGAIN)
        seen: dict[str, tuple[tuple[str, str], ...]] = {}
        for one in captures:
            key = document_key(one.url, one.digest)
            seen[key] = (*seen.get(key, ()), (one.timestamp, one.collection))
        dates = tuple(Dates(key, each) for key, each in seen.items())
        engine.write(Batch(captures=captures, dates=dates))
        engine.refresh()
        engine.picture_index().put([_PICTURE], [_ON_PAGE, _ON_OTHER])
        yield engine


def _seen(archive: Engine, **scope: str) -> Engine:
    rule = AccessRule("", Action.EXCLUDE, Scope(**scope))  # type: ignore[arg-type]
    archive.access_index().put([rule], "test")
    return restricted_to(archive, EVERYBODY)


def test_words_of_hidden_pages_find_nothing(archive: Engine) -> None:
    engine = _seen(archive, digest=_PAGE.digest)
    index = engine.picture_index()
    assert index.is_made()
    assert index.search(PictureQuestion("sailing")).total.value == 0
    assert index.search(PictureQuestion("rowing")).pictures == ((_PICTURE, _ON_OTHER),)
    assert index.appearances_of(_PICTURE.id, 9) == [_ON_OTHER]
    assert index.appearances_at([_IMAGE.urlkey]) == [_ON_OTHER]
    assert index.appearance_counts([_IMAGE.urlkey]) == {_IMAGE.urlkey: 1}
    assert engine.count(IndexName.PICTURES) == len(list(engine.scan(IndexName.PICTURES))) == 2
    assert index.similar(7, 5) == [(_PICTURE, 0)]


def test_hidden_pictures_are_nowhere(archive: Engine) -> None:
    engine = _seen(archive, digest=_IMAGE.digest)
    index = engine.picture_index()
    assert index.search(PictureQuestion()).total.value == 0
    assert index.search(PictureQuestion("rowing")).pictures == ()
    assert index.pictures_of([_PICTURE.id]) == {}
    assert index.appearances_of(_PICTURE.id, 9) == index.appearances_at([_IMAGE.urlkey]) == []
    assert index.similar(7, 5) == []
    assert list(engine.scan(IndexName.PICTURES)) == []


def test_a_hidden_date_is_replaced_by_a_visible_one(archive: Engine) -> None:
    engine = _seen(archive, digest=_IMAGE.digest, date_to="20111231235959")
    visible = replace(_PICTURE, timestamp=_AGAIN.timestamp)
    index = engine.picture_index()
    assert [one.picture for one in index.search(PictureQuestion("ship")).pictures] == [visible]
    assert index.pictures_of([_PICTURE.id]) == {_PICTURE.id: visible}
    assert index.similar(7, 5) == [(visible, 0)]
    stored = {one["id"]: one for one in engine.scan(IndexName.PICTURES)}
    assert stored[_PICTURE.id]["timestamp"] == _AGAIN.timestamp


def test_it_only_reads(archive: Engine) -> None:
    engine = _seen(archive, digest=_PAGE.digest)
    assert isinstance(engine, RestrictedEngine)
    index = engine.picture_index()
    for write in (
        lambda: index.put([_PICTURE]),
        lambda: index.remove([_PICTURE.id]),
        index.clear,
        lambda: index.put_state("mark", b""),
    ):
        with pytest.raises(EngineError):
            write()
    assert index.state("mark") is None
