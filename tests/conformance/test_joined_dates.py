"""Revisits with an additional digest become dates of the document that has the payload."""

from pathlib import Path

import pytest

from nwx.cdx.inputs import CdxSource
from nwx.dedup.added_dates import DatesLists, build_dates, orphans
from nwx.dedup.digest_lists import add_digests
from nwx.engine.base import Engine
from nwx.engine.document_dates import joining_dates
from nwx.importing import ImportOptions, import_files
from nwx.keys import document_id, document_key
from nwx.model import MAIN_DATES
from nwx.warc.sources import expand
from tests.conformance.archive import settings_of
from tests.warcs import Page, html, sha256, write_sha256_warc, write_warc

ABOVE_ENGINES = (
    "test_the_order_of_files_does_not_matter",
    "test_what_a_killed_import_left_is_joined",
)

PAGE = Page("http://a.example/", "20200101000000", html("a", "one"))
AGAIN = Page(PAGE.url, "20210101000000", PAGE.body, revisit=True)
OTHER = Page("http://b.example/", "20210101000000", PAGE.body, revisit=True)


def imported(engine: Engine, *files: Path, digests: str | None = "sha256") -> None:
    options = ImportOptions(jobs=1, digests=digests)
    report = import_files(engine, settings_of(engine), expand(map(str, files)), options)
    assert not report.errors


def years(engine: Engine, page: Page, digest: str) -> list[str]:
    found = engine.dates([document_id(document_key(page.url, digest))])
    return [timestamp[:4] for one in found.values() for timestamp, _ in one.seen]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A file with an original, and one with revisits of it."""
    original = write_warc(tmp_path / "original.warc.gz", [PAGE])
    return [original, write_sha256_warc(tmp_path / "revisits.warc", [AGAIN, OTHER])]


@pytest.mark.parametrize("order", ["original first", "revisit first", "together"])
def test_the_order_of_files_does_not_matter(engine: Engine, files: list[Path], order: str) -> None:
    if order == "together":
        imported(engine, *files)
    else:
        for file in files if order == "original first" else reversed(files):
            imported(engine, file)
    assert years(engine, PAGE, PAGE.digest) == ["2020", "2021"]
    assert years(engine, PAGE, sha256(PAGE)) == []
    engine.refresh()
    assert [one.key for one in orphans(engine)] == [document_key(OTHER.url, sha256(OTHER))]


def test_digests_that_are_added_later_join_dates(engine: Engine, files: list[Path]) -> None:
    imported(engine, *files, digests=None)
    assert years(engine, PAGE, sha256(PAGE)) == ["2021"]
    engine.refresh()
    add_digests(engine, 1)
    assert years(engine, PAGE, PAGE.digest) == ["2020", "2021"]
    assert years(engine, PAGE, sha256(PAGE)) == []


def test_what_a_killed_import_left_is_joined(engine: Engine, files: list[Path]) -> None:
    imported(engine, files[1], digests=None)
    imported(engine, files[0], digests="none")
    engine.digests.add([(sha256(PAGE), PAGE.digest)])
    with pytest.raises(ZeroDivisionError), joining_dates(engine):
        raise ZeroDivisionError
    if engine.traits.is_local:
        imported(engine, files[0])
    else:  # it allows several importers
        add_digests(engine, 1)
    assert years(engine, PAGE, PAGE.digest) == ["2020", "2021"]
    assert years(engine, PAGE, sha256(PAGE)) == []


def test_an_index_is_built_of_joined_dates(
    engine: Engine, files: list[Path], tmp_path: Path
) -> None:
    imported(engine, files[0])
    lines = [(PAGE.digest, "2022"), (sha256(PAGE), "2023"), ("sha256:" + "0" * 64, "2024")]
    listed = tmp_path / "list"
    listed.write_text("".join(f"{year}0101000000 {one} {PAGE.url}\n" for one, year in lines))
    report = build_dates(
        engine, [MAIN_DATES], "built", DatesLists([CdxSource(str(listed), held=True)], "web")
    )
    assert (report.keys, report.orphans, report.new) == (2, 1, 4)
    engine.attach_dates("built")
    assert years(engine, PAGE, PAGE.digest) == ["2020", "2022", "2023"]
