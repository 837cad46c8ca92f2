"""Answers as bytes."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.cdxserver.output import pieces, resume_key
from nwx.cdxserver.query_model import DIALECTS, IA, OUTBACK, PYWB, Dialect, Resume, parameters_of
from nwx.cdxserver.query_parser import parse_cdx_query
from nwx.cdxserver.selection import SelectedRows
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import EngineSource
from nwx.engine.capture_index import CdxLineForm, CdxSpan
from nwx.engine.embedded import EmbeddedEngine
from nwx.model import Capture
from tests.conformance.archive import capture
from tests.unit.cdxserver.rows import ListSource, row

SOURCE = ListSource(
    [
        row("", "20100101000000", extra='{"requestBody": "x=1"}'),
        row("", "20110101000000", status="-", length="-"),
        row('q"<', "20120101000000"),
    ]
)


def written(query: str, dialect: Dialect) -> str:
    asked = parse_cdx_query(parameters_of(f"url=a.example/*&{query}"), dialect)
    return b"".join(pieces(SelectedRows(asked, SOURCE), asked, dialect)).decode()


def test_text_has_a_line_a_capture_with_dashes_for_what_is_missing() -> None:
    lines = written("fl=timestamp,status,length,requestBody", OUTBACK).splitlines()
    assert lines == [
        "20100101000000 200 100 x=1",
        "20110101000000 - - -",
        "20120101000000 200 100 -",
    ]


def test_outback_writes_numbers_and_null() -> None:
    rows = json.loads(written("output=json&fl=timestamp,status,length,mime", OUTBACK))
    assert rows[0] == ["timestamp", "status", "length", "mime"]
    assert rows[2] == [20110101000000, None, None, "text/html"]


def test_pywb_writes_an_object_a_line() -> None:
    objects = [json.loads(line) for line in written("output=json", PYWB).splitlines()]
    assert [one["timestamp"][:4] for one in objects] == ["2010", "2011", "2012"]
    assert objects[2]["url"] == 'http://a.example/q"<'


def test_a_resume_key_stands_behind_the_answer() -> None:
    text = written("limit=1&showResumeKey=true&fl=timestamp", IA)
    assert text.splitlines() == ["20100101000000", "", "example%2Ca%29%2F+20100101000000+1"]
    rows = json.loads(written("limit=1&showResumeKey=true&fl=timestamp&output=json", IA))
    assert rows[-2:] == [[], ["example%2Ca%29%2F+20100101000000+1"]]


@pytest.mark.parametrize("key", ["a)/", "\udce9)/"])
def test_a_resume_key_survives_an_address(key: str) -> None:
    assert resume_key(Resume(key, "2010", 3)).endswith("+2010+3")


class RowsOnly(EngineSource):
    """An archive that returns rows only; it counts requests for lines."""

    asked = 0

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> None:
        self.asked += 1


def _captures() -> Iterator[Capture]:
    for number in range(5_000):
        yield capture(f"http://many.example/{number}", "20200101000000", offset=number)
    for number in range(3_000):
        yield capture("http://ties.example/", "20200101000000", offset=9_000 - number)
    for number in range(600):
        time = f"20200101{number // 3600:02}{number // 60 % 60:02}{number % 60:02}"
        yield capture("http://one.example/", time, offset=20_000 + number)
    plain = capture("http://odd.example/", "20200101000000", offset=30_000)
    yield plain
    odd = (
        {"redirect_to": "http://a.example/with blank"},
        {"redirect_to": "a\u2028b"},
        {"content_type": "text/ht\nml"},
        {"content_type": ""},
        {"status_code": None, "record_length": None},
        {"digest": "", "document_id": ""},
        {"record_type": "revisit", "content_type": ""},
        {"content_type": "application/warc-fields", "status_code": None},
        {"content_type": "warc/request"},
        {"content_type": "arc/filedesc"},
        {"url": "metadata://odd.example/"},
        {"method": "POST"},
    )
    for number, values in enumerate(odd, 30_001):
        url = f"http://odd.example/{number}"
        yield replace(capture(url, "20200101000000", offset=number), **values)  # type: ignore[arg-type]
    other = capture("http://odd.example/", "20200101000000", offset=1)
    yield replace(other, collection="other", source_file="a.warc.gz")


@pytest.fixture(scope="module", params=["two collections", "one"])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedEngine]:
    folder: Path = tmp_path_factory.mktemp("lines") / "archive"
    captures = [one for one in _captures() if request.param != "one" or one.collection != "other"]
    with EmbeddedEngine(folder) as engine:
        engine.load_captures([captures])
        yield engine


@pytest.mark.parametrize(
    "asked",
    [
        "url=*.example",
        "url=*.example&limit=300",
        "url=*.example&limit=5000",
        "url=*.example&limit=5001",
        "url=*.example&fl=timestamp",
        "url=*.example&fl=filename,urlkey,offset",
        "url=http://many.example/*",
        "url=http://many.example/7",
        "url=http://ties.example/",
        "url=http://ties.example/&limit=10",
        "url=http://one.example/&from=20200101000100&to=20200101000200",
        "url=http://one.example/&limit=256",
        "url=http://odd.example/*",
        "url=http://odd.example/*&digest=hex",
        "url=http://odd.example/*&fl=digest,redirect",
        "url=http://nowhere.example/",
    ],
)
@pytest.mark.parametrize("dialect", ["ia", "pywb", "outback"])
@pytest.mark.parametrize("collection", ["", "default", "other"])
def test_lines_are_those_of_rows(
    engine: EmbeddedEngine, dialect: str, collection: str, asked: str
) -> None:
    bodies = []
    for source in (EngineSource(engine), RowsOnly(engine)):
        answer = CdxServer([source]).answer(
            parameters_of(f"{asked}&output=text"), DIALECTS[dialect], collection=collection
        )
        bodies.append(b"".join(answer.pieces))
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize(
    "asked",
    [
        "url=*.example&filter=statuscode:200",
        "url=*.example&collapse=urlkey",
        "url=*.example&output=json",
        "url=*.example&limit=-3",
        "url=*.example&from=2020",
        "url=*.example&offset=3",
        "url=*.example&showResumeKey=true&limit=3",
        "url=*.example&fl=urlkey,method",
        "url=*.example&digest=hex",
    ],
)
def test_what_takes_rows_is_made_of_rows(engine: EmbeddedEngine, asked: str) -> None:
    source = RowsOnly(engine)
    CdxServer([source]).answer(parameters_of(asked), DIALECTS["ia"])
    assert source.asked == 0
