"""Several sources as one."""

from pathlib import Path

import pytest

from nwx.cdxserver.query.dialects import DIALECTS
from nwx.cdxserver.query.parameters import parameters_of
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources.from_arguments import open_sources
from nwx.engine.capture_index import CdxSpan
from nwx.errors import CaptureIndexError
from tests.cdxlines import ALL_RECORDS, CAPTURED
from webapp.site import failures

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


def test_a_cluster_without_its_data_is_told_without_paths(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = tmp_path / "broken.idx"
    index.write_bytes(b"com,example)/ 20140127171200\tfoo\t0\t275\t1\n")
    found = CdxServer(open_sources([str(index)]))
    for ask in (found.source.rows, found.source.marks):
        with pytest.raises(CaptureIndexError, match=r"broken\.idx cannot be read") as told:
            list(ask(EVERYTHING))
        assert str(tmp_path) not in str(told.value)
        assert "foo.gz" in caplog.records[-1].message
    assert failures.status_of(told.value) == 503
    found.close()


def test_a_file_that_is_gone_is_told_without_paths(tmp_path: Path) -> None:
    found = server(tmp_path)
    (tmp_path / "all.cdx").unlink()
    with pytest.raises(CaptureIndexError) as told:
        list(found.source.rows(EVERYTHING))
    assert str(tmp_path) not in str(told.value)


def test_the_dialect_of_pywb_spells_digests_and_missing_fields(tmp_path: Path) -> None:
    found = server(tmp_path)
    for output, start in (("json", ""), ("cdxj", "example,a)/9 20200101000000 ")):
        asked = parameters_of(f"urlkey=example,a)/9&fl=status,digest,method&output={output}")
        answer = b"".join(found.answer(asked, DIALECTS["pywb"]).pieces).decode()
        assert answer == f'{start}{{"status": "-", "digest": "sha1:{"H" * 32}"}}\n'
