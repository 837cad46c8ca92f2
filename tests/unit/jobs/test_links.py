"""The links of documents files as rows."""

from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.importing.options import ImportOptions
from nwx.jobs.links import LINK_ROWS_SCHEMA, read_link_rows
from nwx.jobs.output import PieceReport
from nwx.jobs.pieces import UnreachableError
from tests.documents_files import write_documents
from tests.unit.jobs.making import read_all
from tests.warc_records import FIELDS, http_response, outlink_lines, warc_bytes, write_records
from tests.warcs import Page, html, write_warc

HOME = "http://www.a.example/"
BODY = f'<a href="/b">to b</a> <a href="/b">to b</a> <a href="{HOME}">me</a> <img src="//x:99999/">'
LINKS = html("a", BODY)


def rows_of(tmp_path: Path, warc: Path) -> tuple[list[dict[str, object]], PieceReport]:
    folder = write_documents(tmp_path / "documents", [warc])
    path = str(folder / f"{warc.name}.parquet")
    rows, reports = read_all(read_link_rows, [path], LINK_ROWS_SCHEMA, tmp_path / "reports")
    return rows, reports[0]


def test_rows_are_documents_links_and_dates(tmp_path: Path) -> None:
    pages = [
        Page(HOME, "20160101000000", LINKS),
        Page(HOME, "20150301000000", LINKS, revisit=True),
        Page(HOME, "20150201000000", LINKS),
    ]
    rows, report = rows_of(tmp_path, write_warc(tmp_path / "a.warc.gz", pages))
    links = [row for row in rows if row["target"] is not None]
    dates = [row for row in rows if row["year"] is not None]
    [document] = [row for row in rows if row["refused"] is not None]
    assert (document["source"], document["url"], document["refused"]) == ("example,a)/", HOME, 1)
    assert [(one["source"], one["target"], one["kind"], one["anchor"]) for one in links] == [
        ("example,a)/", "example,a)/b", "a", "to b"),
        ("example,a)/", "example,a)/", "a", "me"),
    ]
    assert {one["source_host"] for one in links} == {one["target_host"] for one in links}
    assert {one["id"] for one in rows} == {document["id"]}
    assert [(one["year"], one["first"], one["last"]) for one in dates] == [
        (2016, "20160101000000", "20160101000000"),
        (2015, "20150201000000", "20150301000000"),
    ]
    assert report.counts == {"documents": 1}


def test_outlinks_of_other_places_are_joined(tmp_path: Path) -> None:
    url = "http://o.example/"
    fields = {"content_type": FIELDS}
    records = [
        warc_bytes("response", http_response(b"o"), id="p", url=url),
        warc_bytes("response", http_response(b"q"), id="q", url=f"{url}q"),
        warc_bytes("metadata", outlink_lines("http://x.example/"), id="m", url=url, **fields),
        warc_bytes(
            "metadata", outlink_lines("http://y.example/"), id="n", url="http://gone.example/",
            **fields,
        ),
    ]  # fmt: skip
    rows, report = rows_of(tmp_path, write_records(tmp_path / "o.warc.gz", records))
    targets = [row["target"] for row in rows if row["target"] is not None]
    assert targets == ["example,x)/"]
    unmet = [(row["url"], row["first"]) for row in rows if row["id"] is None]
    assert unmet == [("http://gone.example/", "20150101000000")]
    assert [(error.kind, error.file) for error in report.errors] == [("outlink", "o.warc.gz")]


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", [Page(HOME, "20160101000000", LINKS)])
    folder = write_documents(tmp_path / "every", [warc], ImportOptions(deduplicate=False))
    with pytest.raises(SourceError, match="was extracted with --no-dedup"):
        list(read_link_rows(str(folder / "a.warc.gz.parquet"), PieceReport()))
    with pytest.raises(UnreachableError, match="cannot be read"):
        list(read_link_rows("memory://none/a.parquet", PieceReport()))
