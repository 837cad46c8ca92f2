"""Lines that an engine puts together are those that rows make."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.cdxserver.query.dialects import DIALECTS
from nwx.cdxserver.query.parameters import parameters_of
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources.merged import EngineSource
from nwx.engine.capture_index import CdxLineForm, CdxSpan
from nwx.engine.embedded import EmbeddedEngine
from nwx.model import Capture
from tests.conformance.archive import capture


class RowsOnly(EngineSource):
    """An archive that gives rows only; it counts how often it was asked for lines."""

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
