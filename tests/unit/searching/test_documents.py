"""A document with its dates and locations, and the versions of a URL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import UsageError
from nwx.keys import document_id, document_key
from nwx.searching.documents import id_of_key, show, versions
from tests.conformance.archive import also, batch, page

URL = "http://www.a.example/"
FIRST = page(URL, "2010", "first", title="First")
SECOND = page("http://a.example/", "2012", "second", title="Second")
OTHER = page("http://b.example/", "2011", "first")
ID = FIRST.capture.document_id


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as opened:
        opened.create()
        opened.write(batch([FIRST, SECOND, OTHER], [also(FIRST, "2013")]))
        opened.refresh()
        yield opened


def test_a_document_comes_with_its_dates_and_captures(engine: Engine) -> None:
    found = show(engine, ID)
    assert found is not None
    assert found.document.extract.title == "First"
    assert [timestamp[:4] for timestamp, _ in found.dates.seen] == ["2010", "2013"]
    assert found.captures == (FIRST.capture,)
    assert show(engine, "0" * 32) is None


def test_versions_are_those_of_every_spelling_of_a_url(engine: Engine) -> None:
    found = versions(engine, "https://A.example")
    assert [version.title for version in found] == ["First", "Second"]
    assert (found[0].first[:4], found[0].last[:4], found[0].captures) == ("2010", "2013", 2)
    assert versions(engine, "http://nowhere.example/") == []


def test_a_key_means_a_document() -> None:
    digest = FIRST.capture.digest
    assert id_of_key(f"{URL} {digest}") == document_id(document_key(URL, digest)) == ID
    assert id_of_key(ID) == ID
    assert id_of_key(URL) is None
    with pytest.raises(UsageError, match="a key is <url> <digest>"):
        id_of_key(f"{URL} sha1:short")
