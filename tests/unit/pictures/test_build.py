"""The pictures index built from an archive."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from nwx.bulk.pool import Pool
from nwx.engine.base import Engine
from nwx.engine.indices.picture_index import PictureQuestion
from nwx.errors import SourceError
from nwx.importing import ImportOptions, import_files
from nwx.model import MAIN_DATES, Dates
from nwx.pictures.build import build_pictures
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.pictured import (
    CHART,
    COPY,
    HOME,
    NEWS,
    SHIP,
    SITE,
    image_records,
    late_records,
    page_records,
)
from tests.warc_records import write_records


def _import(engine: Engine, folder: Path, name: str, records: Iterable[bytes]) -> Path:
    path = write_records(folder / name, records)
    settings = Settings(str(folder / "archive"))
    import_files(engine, settings, list(expand([str(path)])), ImportOptions(jobs=1))
    return path


def _found(engine: Engine, query: str = "") -> set[tuple[str, str]]:
    result = engine.picture_index().search(PictureQuestion(query))
    return {(one.picture.url, one.picture.timestamp[:4]) for one in result.pictures}


@pytest.mark.parametrize("pages_first", [True, False])
def test_pictures_are_built_in_any_order(engine: Engine, tmp_path: Path, pages_first: bool) -> None:
    parts = [("pages.warc.gz", page_records()), ("images.warc.gz", image_records())]
    reports = []
    for name, records in parts if pages_first else reversed(parts):
        _import(engine, tmp_path, name, records)
        reports.append(build_pictures(engine, workers=1))
    assert sum(one.captures for one in reports) == 8
    assert sum(one.pictures for one in reports) == 4
    assert sum(one.pages for one in reports) == 3
    assert sum(one.unreadable for one in reports) == 1
    (problem,) = reports[pages_first].problems
    assert problem.startswith("images.warc.gz at ")
    assert _found(engine) == {(SHIP, "2010"), (SHIP, "2015"), (COPY, "2010"), (CHART, "2010")}
    assert _found(engine, "sailing morning") == {(SHIP, "2010")}  # the nearest in time
    assert _found(engine, '"ship again"') == {(SHIP, "2010"), (COPY, "2010"), (CHART, "2010")}
    best = engine.picture_index().search(PictureQuestion("coast")).pictures[0]
    assert best.picture.url == CHART  # other pages have the word farther from the image
    assert _found(engine, "script") == _found(engine, "never") == set()


def test_a_build_goes_on_where_the_last_one_ended(engine: Engine, tmp_path: Path) -> None:
    _import(engine, tmp_path, "pages.warc.gz", page_records())
    _import(engine, tmp_path, "images.warc.gz", image_records())
    build_pictures(engine, workers=1)
    assert build_pictures(engine, workers=1).captures == 0
    _import(engine, tmp_path, "late.warc.gz", late_records())
    report = build_pictures(engine, workers=1)
    assert (report.captures, report.pictures, report.pages) == (1, 1, 0)
    assert _found(engine, "gone words") == {(f"{SITE}gone.png", "2010")}
    index = engine.picture_index()
    (found,) = index.search(PictureQuestion("never captured")).pictures
    shown = index.appearances_of(found.picture.id, 9)
    assert {one.page_url for one in shown} == {HOME, f"{SITE}later"}
    again = build_pictures(engine, workers=1, anew=True)
    assert (again.captures, again.pictures) == (9, 5)
    assert (CHART, "2010") in _found(engine, "coast")


def test_pages_are_read_where_dates_reach_back_further_than_captures(
    engine: Engine, tmp_path: Path
) -> None:
    _import(engine, tmp_path, "pages.warc.gz", page_records())
    _import(engine, tmp_path, "images.warc.gz", image_records())
    keys = [one.key for one in engine.scan_dates(MAIN_DATES)]
    engine.append_dates([Dates(key, (("20000101000000", "old"),)) for key in keys])
    assert build_pictures(engine, workers=1).pages == 3
    assert _found(engine, "sailing morning") == {(SHIP, "2010")}


def test_similar_pictures_and_the_pages_that_show_one(engine: Engine, tmp_path: Path) -> None:
    _import(engine, tmp_path, "pages.warc.gz", page_records())
    _import(engine, tmp_path, "images.warc.gz", image_records())
    build_pictures(engine, workers=1)
    index = engine.picture_index()
    (ship,) = index.search(PictureQuestion("sailing")).pictures
    assert ship.picture.hash is not None
    similar = [one.picture.url for one in index.similar(ship.picture.hash, 10)]
    assert set(similar) == {SHIP, COPY}
    shown = index.appearances_of(ship.picture.id, 10)
    assert {one.page_url for one in shown} == {HOME, NEWS}


def test_files_that_are_gone_are_counted(engine: Engine, tmp_path: Path) -> None:
    path = _import(engine, tmp_path, "images.warc.gz", image_records())
    path.unlink()
    report = build_pictures(engine, workers=1)
    assert (report.pictures, report.unreadable) == (0, 5)
    assert build_pictures(engine, workers=1).captures == 0


class _BreakingPool(Pool):
    """A pool whose process is killed: once at random, and by one page each time."""

    calls: ClassVar[list[int]] = []

    def map(self, function: Any, arguments: Any) -> Iterator[Any]:
        tasks = list(arguments)
        self.calls.append(len(tasks))
        if len(self.calls) == 1 or any(capture.url == NEWS for _, capture, _ in tasks):
            raise SourceError("a process was killed")
        yield from super().map(function, tasks)


def test_what_ends_its_process_is_found_by_halving(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.pictures.build.Pool", _BreakingPool)
    _import(engine, tmp_path, "a.warc.gz", [*page_records(), *image_records()])
    report = build_pictures(engine, workers=1)
    assert (report.pictures, report.pages, report.unreadable) == (4, 2, 2)
    assert "it crashes the process" in " ".join(report.problems)
    assert len(_BreakingPool.calls) < 8
