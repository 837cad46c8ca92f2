"""Captures from Parquet files of any make."""

from pathlib import Path

import polars as pl
import pytest

from nwx.errors import SourceError
from nwx.facets.builds.sources import ParquetSource, to_table


def write(folder: Path, month: str, **columns: list[object]) -> None:
    (folder / f"month={month}").mkdir(parents=True)
    pl.DataFrame(columns, strict=False).write_parquet(folder / f"month={month}" / "a.parquet")


def rows(source: ParquetSource, months: list[str] | None = None, after: str = "") -> list[str]:
    return [url for part in source.frames(months, after) for url in part.frame["url"]]


def test_files_with_the_columns_of_common_crawl_are_read(tmp_path: Path) -> None:
    urls, digests = ["http://a.example/", "http://b.example/"], ["sha1:A", "sha1:B"]
    times = pl.Series(["20130102030405", "20130103030405"]).str.to_datetime("%Y%m%d%H%M%S")
    write(
        tmp_path,
        "2013-01",
        url=urls,
        content_digest=digests,
        fetch_time=times.to_list(),
        content_mime_type=["text/html", None],
    )
    (part,) = ParquetSource(tmp_path).frames(None, "")
    assert part.frame["timestamp"].to_list() == ["20130102030405", "20130103030405"]
    assert part.frame["content_type_norm"][0] == "html"
    assert part.frame["status_code"].to_list() == [None, None]


def test_months_are_chosen_and_reading_goes_on_from_a_mark(tmp_path: Path) -> None:
    for month in ("2013-01", "2013-02"):
        columns = {"content_digest": ["A"], "timestamp": [f"{month.replace('-', '')}01000000"]}
        write(tmp_path, month, url=[f"http://{month}.example/"], **columns)
    source = ParquetSource(tmp_path)
    assert rows(source, ["201302"]) == ["http://2013-02.example/"]
    first, second = source.frames(None, "")
    assert rows(source, None, first.after) == ["http://2013-02.example/"]
    assert rows(source, None, second.after) == []
    assert set(source.month_stamps()) == {"201301", "201302"}


def test_files_that_lack_columns_are_named(tmp_path: Path) -> None:
    write(tmp_path, "2013-01", url=["http://a.example/"])
    with pytest.raises(SourceError, match="lacks url, content_digest"):
        list(ParquetSource(tmp_path).frames(None, ""))
    with pytest.raises(SourceError, match="no Parquet files"):
        ParquetSource(tmp_path / "elsewhere")


def test_entries_become_a_table_with_the_time_of_their_timestamp() -> None:
    table = to_table([{"url": "http://a.example/", "timestamp": "20130102030405"}, {}])
    assert table["fetch_time"].dt.strftime("%Y-%m-%d %H:%M:%S").to_list() == [
        "2013-01-02 03:04:05",
        None,
    ]
