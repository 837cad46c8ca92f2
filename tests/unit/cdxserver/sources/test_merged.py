"""Several sources as one."""

from pathlib import Path

from nwx.cdxserver.query.dialects import DIALECTS
from nwx.cdxserver.query.parameters import parameters_of
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources.from_arguments import open_sources
from nwx.engine.spans import CdxSpan
from tests.cdxlines import ALL_RECORDS, CAPTURED

EVERYTHING = CdxSpan("", "\U0010ffff")


def server(tmp_path: Path) -> CdxServer:
    path = tmp_path / "all.cdx"
    path.write_text("".join(sorted(ALL_RECORDS.splitlines(keepends=True))))
    return CdxServer(open_sources([str(path)]))


def test_rows_of_records_that_are_no_captures_are_left_out(tmp_path: Path) -> None:
    urls = [row.url for row in server(tmp_path).source.rows(EVERYTHING)]
    assert sorted(urls) == sorted(CAPTURED)


def test_the_newest_capture_is_no_metadata_record(tmp_path: Path) -> None:
    asked = parameters_of("url=http://a.example/&limit=-1&fl=timestamp,mimetype")
    answer = server(tmp_path).answer(asked, DIALECTS["ia"])
    assert b"".join(answer.pieces) == b"20200101000000 text/html\n"
