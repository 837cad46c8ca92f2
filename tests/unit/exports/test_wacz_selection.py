"""The selection of captures for a WACZ, and its catalogue."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.exports.wacz_selection import Catalogue, WaczSelection, select_captures
from nwx.model import Capture, ReadError
from nwx.settings import Settings
from tests.conformance.archive import batch, capture, page

STONE = page("http://a.example/", "2010", "a stone", offset=100)
GRASS = page("http://b.example/", "2011", "the grass", offset=200)
OTHER = page("http://b.example/x", "2012", "a stone too", collection="other", offset=300)
AGAIN = capture(
    "http://c.example/", "2013", digest=STONE.capture.digest, record_type="revisit", offset=400
)


ANSWER = page("http://d.example/", "2014", "the answer", offset=500)
KEY_OF_POST = "example,d)/?__wb_method=post&a=1"
POSTED = replace(ANSWER, capture=replace(ANSWER.capture, urlkey=KEY_OF_POST))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as opened:
        written = batch([STONE, GRASS, OTHER, POSTED])
        opened.write(replace(written, captures=(*written.captures, AGAIN)))
        opened.refresh()
        yield opened


def _offsets(engine: Engine, selection: WaczSelection) -> list[int]:
    errors: list[ReadError] = []
    found = sorted(one.source_file_offset for one in select_captures(engine, selection, errors))
    assert errors == []
    return found


def test_all_captures_and_the_originals_of_revisits(engine: Engine) -> None:
    assert _offsets(engine, WaczSelection()) == [100, 100, 200, 300, 400, 500]


@pytest.mark.parametrize(
    ("selection", "offsets"),
    [
        (WaczSelection(query="stone"), [100, 300]),
        (WaczSelection(query="stone", collections=("other",)), [300]),
        (WaczSelection(urls=("http://www.b.example/",)), [200]),
        (WaczSelection(query="grass", urls=("http://a.example/",)), [100, 200]),
        (WaczSelection(date_from="20110101000000", date_to="20121231235959"), [200, 300]),
        (WaczSelection(urls=("http://c.example/",)), [100, 400]),
        (WaczSelection(query="answer"), [500]),
    ],
)
def test_queries_urls_collections_and_dates_select(
    engine: Engine, selection: WaczSelection, offsets: list[int]
) -> None:
    assert _offsets(engine, selection) == offsets


def test_a_url_that_is_none_is_an_error(engine: Engine) -> None:
    errors: list[ReadError] = []
    selection = WaczSelection(urls=("http://a.example:99999/", "http://a.example/"))
    found = list(select_captures(engine, selection, errors))
    assert [one.url for one in found] == ["http://a.example/"]
    assert [(error.file, error.kind) for error in errors] == [("http://a.example:99999/", "url")]


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    made = Catalogue(tmp_path / "catalogue")
    yield made
    made.close()


def _placed(file: str, offset: int, timestamp: str = "2010") -> Capture:
    return capture("http://a.example/", timestamp, source_file=file, offset=offset)


def test_each_capture_is_in_the_catalogue_once(catalogue: Catalogue) -> None:
    assert catalogue.add([_placed("b.warc", 9), _placed("a.warc", 7), _placed("b.warc", 9)]) == 2
    assert catalogue.add([_placed("b.warc", 3)]) == 3
    assert catalogue.files() == [("web", "a.warc", 1), ("web", "b.warc", 2)]
    assert list(catalogue.captures("web", "b.warc")) == [
        _placed("b.warc", 3),
        _placed("b.warc", 9),
    ]


def test_lines_come_in_the_order_of_their_bytes(catalogue: Catalogue) -> None:
    for line in (b"b)/ 2010", b"a)/ 2011", b"a)/ 2010", b"a)/ 2010"):
        catalogue.add_line(line)
    assert list(catalogue.lines()) == [b"a)/ 2010", b"a)/ 2010", b"a)/ 2011", b"b)/ 2010"]


def test_a_page_has_its_first_timestamp(catalogue: Catalogue) -> None:
    for timestamp in ("2012", "2010", "2011"):
        one = capture("http://a.example/", timestamp, body="same")
        catalogue.add_page(one)
    assert list(catalogue.pages()) == [
        (one.document_id, "http://a.example/", "20100101000000"),
    ]
