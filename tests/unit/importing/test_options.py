"""Invalid options are refused."""

from pathlib import Path

import pytest

from nwx.dedup.exclusion_lists import ExclusionList
from nwx.engine.base import open_engine
from nwx.errors import UsageError
from nwx.extract import PARSERS as EXTRACT_PARSERS
from nwx.importing import PARSERS, ImportOptions
from nwx.importing.options import report_exclusion
from nwx.keys import document_key
from nwx.model import Dates
from nwx.settings import Settings


@pytest.mark.parametrize("name", ["", "a b", "ä", "a/b", "x" * 65, "a\n"])
def test_names_of_collections_are_checked(name: str) -> None:
    with pytest.raises(UsageError, match="not a valid collection name"):
        ImportOptions(collection=name)


def test_good_names_of_collections_are_taken() -> None:
    for name in ("a", "News-2014_v1.0", "x" * 64):
        assert ImportOptions(collection=name).collection == name


def test_the_parsers_are_those_of_the_extraction() -> None:
    assert PARSERS == EXTRACT_PARSERS
    with pytest.raises(UsageError, match="fast or bs4"):
        ImportOptions(parser="slow")


def test_jobs_default_to_the_cores() -> None:
    assert ImportOptions().processes >= 1
    assert ImportOptions(jobs=3).processes == 3
    with pytest.raises(UsageError):
        ImportOptions(jobs=-1)


SHA1 = "sha1:HWPS2CRKHHSMHYFG5DRL2OFUXG4KJJ6B"


def test_entries_that_earlier_imports_met_are_told_by_the_dates_of_the_archive(
    tmp_path: Path,
) -> None:
    path = tmp_path / "list"
    path.write_text("".join(f"201{year} {SHA1} http://a/\n" for year in range(4)) + "broken\n")
    with (
        open_engine(Settings(str(tmp_path / "archive"))) as engine,
        ExclusionList.load([str(path)], tmp_path) as excluded,
    ):
        engine.create()
        key = document_key("http://a/", SHA1)
        engine.append_dates([Dates(key, (("20110101000000", "web"),))], "main")
        engine.refresh()
        assert excluded.covers("http://a/", SHA1, "20100101000000")
        fresh = report_exclusion(engine, excluded, "web", excluded_before=0)
        later = report_exclusion(engine, excluded, "web", excluded_before=1)
    assert (fresh.lines, fresh.entries, fresh.problems_total) == (4, 4, 1)
    assert (fresh.met, fresh.met_before, fresh.unmet) == (1, 0, 3)
    assert (later.met, later.met_before, later.unmet) == (2, 1, 2)
    assert later.as_json["unmet"] == 2
