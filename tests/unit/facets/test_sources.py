"""Captures from Parquet files of any origin."""

from pathlib import Path

import polars as pl
import pytest

from nwx.bulk.progress import WorkProgress
from nwx.engine.base import open_engine
from nwx.engine.facet_store import BlobFolder
from nwx.errors import EngineBusyError, EngineError, SourceError
from nwx.exports.captures import export_captures
from nwx.facets.build import FacetBuildOptions, build_archive_facets, build_facets
from nwx.facets.sources import ParquetSource, to_table
from nwx.facets.stored_build import current_build
from nwx.settings import Settings
from tests.facets import batch, by_chance, stored_entries


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


class StoppedError(Exception):
    """Interrupts a build."""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.write(batch(by_chance(1, 400)))
        engine.refresh()
        build_archive_facets(engine, FacetBuildOptions(min_captures=3))
        export_captures(engine, tmp_path / "export")
    return tmp_path / "export"


@pytest.mark.parametrize("stage", ["reading", "combining"])
def test_a_stopped_build_goes_on(
    tmp_path: Path, export: Path, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.facets.build._FEWEST_AT_ONCE", 50)
    options = FacetBuildOptions(min_captures=3, memory_bytes=1)
    seen = 0

    def stop(progress: WorkProgress) -> None:
        nonlocal seen
        seen += progress.step == stage
        if seen == 4:
            raise StoppedError

    folder = tmp_path / "facets"
    with pytest.raises(StoppedError):
        build_facets(ParquetSource(export), BlobFolder(folder), options, stop)
    assert BlobFolder(folder).current() is None
    read: list[int] = []

    def note(progress: WorkProgress) -> None:
        if progress.step == "reading":
            read.append(progress.done)

    build_facets(ParquetSource(export), BlobFolder(folder), options, note)
    assert stored_entries(folder) == stored_entries(tmp_path / "archive" / "facets")
    # Nothing was read twice.
    assert not read or read[0] > 80
    assert {path.suffix for path in folder.iterdir()} <= {".arrays", ".json", ""}
    assert not (folder / "work" / "parts").exists()


def test_two_builds_at_once(tmp_path: Path, export: Path) -> None:
    folder = tmp_path / "facets"

    def again(_: WorkProgress) -> None:
        build_facets(ParquetSource(export), BlobFolder(folder), FacetBuildOptions())

    with pytest.raises(EngineBusyError):
        build_facets(ParquetSource(export), BlobFolder(folder), FacetBuildOptions(), again)


def test_an_export_builds_what_its_archive_builds(tmp_path: Path, export: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        before = stored_entries(tmp_path / "archive" / "facets")
        report = build_archive_facets(
            engine, FacetBuildOptions(min_captures=3, anew=True), export=export
        )
        assert report.captures == 400
        assert report.build.notes.stamp == engine.facet_store().stamp()
    assert stored_entries(tmp_path / "archive" / "facets") == before


def test_a_damaged_build_says_what_to_do(tmp_path: Path, export: Path) -> None:
    facets = tmp_path / "archive" / "facets"
    (facets / "current.json").write_text("{")
    with pytest.raises(EngineError, match="build-facets --anew"):
        current_build(BlobFolder(facets))
