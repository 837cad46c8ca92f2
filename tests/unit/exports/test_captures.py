"""Captures exported as Parquet, one folder per month."""

import json
import resource
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from nwx.engine.base import Engine, open_engine
from nwx.errors import SourceError, UsageError
from nwx.exports import captures
from nwx.exports.captures import (
    checked_fields,
    export_captures,
    results_csv,
    results_json,
    results_urls,
)
from nwx.facets.sources import EXPORT_NOTE
from nwx.model import Hit
from nwx.settings import Settings
from tests.conformance.archive import batch, page

PAGES = [
    page("http://a.example/", "20100105000000", "one"),
    page("http://b.example/", "20100107000000", "two"),
    page("http://a.example/x", "20110201000000", "three"),
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as opened:
        opened.write(batch(PAGES))
        opened.refresh()
        yield opened


def test_each_month_has_a_folder(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    report = export_captures(engine, folder)
    assert (report.captures, report.months, report.files) == (3, 2, 2)
    written = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))
    assert written == ["month=2010-01/part-00000.parquet", "month=2011-02/part-00000.parquet"]
    assert report.bytes == sum((folder / name).stat().st_size for name in written)
    assert pl.read_parquet(folder / written[0], hive_partitioning=False).height == 2
    assert json.loads((folder / EXPORT_NOTE).read_text())["captures"] == 3


def test_a_folder_with_files_is_not_written_to(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "mine").touch()
    with pytest.raises(SourceError, match="already exists"):
        export_captures(engine, tmp_path / "export")
    assert [path.name for path in (tmp_path / "export").iterdir()] == ["mine"]


def test_a_file_that_cannot_be_written_is_told(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        captures, "to_table", lambda rows: pl.DataFrame({"n": range(1 << 20)})
    )  # exceeds the limit
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(SourceError, match="export cannot be written: File too large"):
            export_captures(engine, tmp_path / "export")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]


HIT = Hit("1", "http://a.org/", "sha1:A", "=1+1", ("20100101000000", "2012"), 0.5, host="a.org")


def test_chosen_fields_come_in_their_order() -> None:
    assert list(results_csv([HIT], ("host", "captures", "title"))) == [
        "host,captures,title\r\n",
        "a.org,2,'=1+1\r\n",
    ]
    assert json.loads("".join(results_json([HIT], ("dates", "url")))) == [
        {"dates": "20100101000000 2012", "url": "http://a.org/"}
    ]


def test_whole_hits_and_urls_need_no_fields() -> None:
    (whole,) = json.loads("".join(results_json([HIT])))
    assert whole["id"] == "1"
    assert next(results_csv([])).startswith("url,title,first_date")
    assert list(results_urls([HIT])) == ["http://a.org/\n"]


def test_fields_are_known_and_come_once() -> None:
    assert checked_fields(["url", "id", "url"]) == ("url", "id")
    with pytest.raises(UsageError, match="choose from url, title"):
        checked_fields(["colour"])
