"""Files imported with and without deduplication, in one archive."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nwx.checks.agreement import check
from nwx.engine.open import open_engine
from nwx.importing import ImportOptions, ImportReport, import_files
from nwx.model import IndexName
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.warcs import Page, html, write_warc

URL = "http://www.example.org/"
A, B = html("A", "the first text"), html("B", "the second text")
PAGES = [
    Page(URL, "20200101000000", A),
    Page(URL, "20210101000000", A),
    Page(URL, "20220101000000", B),
    Page(URL, "20230101000000", A),
    Page(URL, "20240101000000", A, revisit=True),
]
PLAIN = (1, 3)
"""The files that are deduplicated."""
EACH = ImportOptions(jobs=1, deduplicate=False)


def imported(archive: Path, file: Path, options: ImportOptions) -> ImportReport:
    settings = Settings(str(archive))
    with open_engine(settings) as engine:
        engine.create()
        return import_files(engine, settings, expand([str(file)]), options)


def held(archive: Path) -> dict[str, list[Any]]:
    """Return all that an archive has; its indices must agree."""
    with open_engine(Settings(str(archive)), read_only=True) as engine:
        assert list(check(engine)) == []
        return {index: list(engine.scan(index)) for index in IndexName}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [
        write_warc(tmp_path / f"{page.timestamp}.warc.gz", [page, Page(URL, page.timestamp, B)])
        for page in PAGES
    ]


def filled(archive: Path, files: Sequence[Path], order: Sequence[int]) -> dict[str, list[Any]]:
    for place in order:
        imported(archive, files[place], replace(EACH, deduplicate=place in PLAIN))
    return held(archive)


def test_the_order_does_not_matter(tmp_path: Path, files: list[Path]) -> None:
    first = filled(tmp_path / "0", files, (0, 1, 2, 3, 4))
    assert filled(tmp_path / "1", files, (4, 3, 2, 1, 0)) == first
    assert filled(tmp_path / "2", files, (3, 0, 4, 1, 2)) == first
    made = sorted((entry["digest"], entry["timestamp"][:4]) for entry in first["documents"])
    a, b = PAGES[0].digest, PAGES[2].digest
    # of A its document, of B its document, two captures of 2022 and one of 2024
    assert made == sorted([(a, "2020"), (b, "2020"), (b, "2022"), (b, "2022"), (b, "2024")])


def test_a_document_that_gives_way_stays_as_one_of_its_own(
    tmp_path: Path, files: list[Path]
) -> None:
    imported(tmp_path / "a", files[4], EACH)
    report = imported(tmp_path / "a", files[1], ImportOptions(jobs=1))
    assert (report.documents, report.captures) == (2, 2)
    years = [entry["timestamp"][:4] for entry in held(tmp_path / "a")["documents"]]
    assert sorted(years) == ["2021", "2021", "2024"]


def test_an_import_repeated_changes_nothing(tmp_path: Path, files: list[Path]) -> None:
    archive = tmp_path / "a"
    first = filled(archive, files, (2, 0))
    with open_engine(Settings(str(archive))) as engine:
        ids = [entry["id"] for entry in first["files"]]
        assert engine.delete(IndexName.FILES, ids) == 2
    assert filled(archive, files, (0, 2)) == first


def test_a_document_of_its_own_that_was_lost_is_found_missing(
    tmp_path: Path, files: list[Path]
) -> None:
    first = filled(tmp_path / "a", files, (0, 2))
    lost = max(first["documents"], key=lambda entry: entry["timestamp"])
    with open_engine(Settings(str(tmp_path / "a"))) as engine:
        engine.delete(IndexName.DOCUMENTS, [lost["id"]])
        [finding] = check(engine)
    place = f"default/{lost['source_file']}@{lost['source_file_offset']}"
    assert (finding.kind, finding.id) == ("undocumented", place)
