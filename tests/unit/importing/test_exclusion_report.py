"""What became of the entries of exclusion lists."""

from pathlib import Path

from nwx.dedup.exclusion_lists import ExclusionList
from nwx.engine.open import open_engine
from nwx.importing.exclusion_report import report_exclusion
from nwx.keys import document_key
from nwx.model import Dates
from nwx.settings import Settings

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
