"""The columnar index compared with its published schema, rows made by hand, and DuckDB."""

from pathlib import Path

import duckdb
import polars as pl
import pyarrow.dataset
import pyarrow.parquet
import pytest

import nwx
from nwx.cdx.inputs import CdxSource
from nwx.engine.document_index import DocumentIndex
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import SourceError, UsageError
from nwx.exports.cc_index_files import DocumentLanguages
from tests.cc_index_table import QUESTIONS, made_lines, rows_by_hand, sorted_rows

PUBLISHED = """
url_surtkey string, url string, url_host_name string, url_host_tld string?,
url_host_2nd_last_part string?, url_host_3rd_last_part string?, url_host_4th_last_part string?,
url_host_5th_last_part string?, url_host_registry_suffix string?,
url_host_registered_domain string?, url_host_private_suffix string?,
url_host_private_domain string?, url_host_name_reversed string?, url_protocol string,
url_port int32?, url_path string, url_query string?, fetch_time timestamp[ms, tz=UTC],
fetch_status int16, fetch_redirect string?, content_digest string?, content_mime_type string?,
content_mime_detected string?, content_charset string?, content_languages string?,
content_truncated string?, warc_filename string, warc_record_offset int32,
warc_record_length int32, warc_segment string
"""
"""The columns in files, `?` if nullable; crawl and subset are folder names, as published."""


SAMPLE = Path(__file__).parents[3] / "sample" / "archive"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sample") / "archive"
    with nwx.open(place) as archive:
        archive.import_(SAMPLE)
    return place


@pytest.fixture(scope="module")
def lines(sample: Path) -> list[str]:
    with nwx.open(sample) as archive:
        names = "urlkey timestamp url mime status digest redirect robotflags length offset filename"
        captures = b"".join(archive.captures(columns=names.split()).lines()).decode().splitlines()
    return [*captures, *made_lines()]


@pytest.fixture(scope="module")
def table(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    (folder / "all.cdx").write_text("\n".join([" CDX N b a m s k r M S V g", *lines[::-1], ""]))
    sources = [CdxSource(str(folder / "all.cdx"))]
    report = nwx.open("nowhere").export_cc_index(folder / "table", sources)
    assert (report.rows, report.problems_total) == (len(lines), 0)
    return folder / "table"


def test_the_schema_is_the_published_one_field_by_field(table: Path) -> None:
    wanted = [
        text.split(" ", 1)
        for text in " ".join(PUBLISHED.split()).replace("[ms, ", "[ms,").split(", ")
    ]
    for path in table.rglob("*.parquet"):
        found = pyarrow.parquet.read_schema(path)
        assert [
            [one.name, str(one.type).replace(" ", "") + "?" * one.nullable] for one in found
        ] == [[name, kind.replace(" ", "")] for name, kind in wanted]
    whole = pyarrow.dataset.dataset(table, partitioning="hive").schema
    assert len(whole) == 32
    assert whole.names[-2:] == ["crawl", "subset"]


def test_the_rows_are_those_made_by_hand_and_sorted(table: Path, lines: list[str]) -> None:
    found = pl.read_parquet(table / "**/*.parquet", hive_partitioning=True)
    order = ["url_surtkey", "fetch_time", "warc_filename", "warc_record_offset"]
    expected = pl.DataFrame(rows_by_hand(lines), found.schema, orient="row")
    assert found.sort(order).to_dicts() == expected.sort(order).to_dicts()
    for path in table.rglob("*.parquet"):
        keys = [key.encode() for key in pl.read_parquet(path)["url_surtkey"]]
        assert keys == sorted(keys)


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_example_of_common_crawl_has_on_duckdb_the_answer_of_the_table_made_by_hand(
    name: str, table: Path, lines: list[str]
) -> None:
    by_hand = pl.DataFrame(rows_by_hand(lines), infer_schema_length=None)  # noqa: F841  # DuckDB's
    answers = []
    for source in (f"read_parquet('{table}/**/*.parquet', hive_partitioning=true)", "by_hand"):
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE ccindex AS SELECT * FROM {source}")
            answers.append(sorted_rows(connection.execute(QUESTIONS[name][0]).fetchall()))
    assert answers[0] == answers[1]
    assert answers[0]


def test_an_archive_gives_detected_types_and_languages(sample: Path, tmp_path: Path) -> None:
    with nwx.open(sample) as archive:
        report = archive.export_cc_index(tmp_path / "out", crawl="ours")
        assert report.rows == len(archive.captures())
    found = pl.read_parquet(tmp_path / "out/crawl=ours/**/*.parquet")
    assert len(found) == report.rows
    known = found.filter(pl.col("url").str.ends_with("lantern.example/zh/"))
    assert set(known["content_languages"]) == {"zho"}
    assert {"eng", "fra", "deu", "ell"} < set(found["content_languages"])
    detected = found.filter(pl.col("content_mime_type") == "warc/revisit")["content_mime_detected"]
    assert "text/html" in set(detected)
    with nwx.open(sample) as archive, pytest.raises(SourceError):
        archive.export_cc_index(tmp_path / "out")


def test_what_the_index_cannot_hold_is_reported(tmp_path: Path) -> None:
    far = {"url": "http://a.org/", "offset": str(2**31), "length": "9", "filename": "f"}
    path = tmp_path / "some.cdxj"
    path.write_text(
        f"org,a)/ 20150101000000 {far}\n".replace("'", '"')
        + "org,a)/b 20150230000000 http://a.org/b text/html 200 A - - 1 5 f\n"
        + 'org,a)/c 20150101000000 {"url": \n'
        + "org,a)/d 2015 http://a.org/d text/html 200 A - - 1 5 f\n"
    )
    report = nwx.open("nowhere").export_cc_index(tmp_path / "out", [CdxSource(str(path))])
    assert (report.rows, report.problems_total) == (1, 3)
    path.write_text(" CDX N b a k\norg,a)/d 2015 http://a.org/d A\n")
    with pytest.raises(UsageError, match="has the fields N b a k"):
        nwx.open("nowhere").export_cc_index(tmp_path / "other", [CdxSource(str(path))])


def test_languages_by_column_are_those_of_the_hits(tmp_path: Path) -> None:
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_(SAMPLE)
    with EmbeddedEngine(tmp_path / "archive", read_only=True) as engine:
        found = sorted(engine.document_languages())
        assert found == sorted(DocumentIndex.document_languages(engine))
        languages = DocumentLanguages(engine)
        fields = ("url", "digest")
        pieces = map(languages.of_columns, engine.capture_columns(fields))
        known = {language for piece in pieces for language in piece}
    assert known == {language for _, language in found} | {""}
