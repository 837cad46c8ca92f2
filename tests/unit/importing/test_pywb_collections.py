from pathlib import Path

import pytest

from nwx.importing.pywb_collections import pywb_collections

CONFIG = """\
collections_root: kept
archive_paths: warcs
default_access: exclude
collections:
  papers:
    index_paths: papers.cdxj
    archive_paths: papers
    default_access: allow
    embargo: {newer: {years: 3}}
  parts: {sequence: [], embargo: {before: "2014"}, default_access: ask}
"""


def test_settings_name_the_places_and_the_access(tmp_path: Path) -> None:
    (tmp_path / "kept" / "lamps" / "warcs").mkdir(parents=True)
    (tmp_path / "kept" / "other").mkdir()
    (tmp_path / "papers").mkdir()
    (tmp_path / "config.yaml").write_text(CONFIG)
    lamps, papers, parts = pywb_collections(tmp_path)
    assert (lamps.name, lamps.action, lamps.left) == ("lamps", "exclude", ())
    assert lamps.archives == (tmp_path / "kept" / "lamps" / "warcs",)
    assert (papers.archives, papers.action, papers.years) == ((tmp_path / "papers",), "", 3)
    assert len(parts.left) == 3


@pytest.mark.parametrize("years", ["many", "0", "{}", "-1"])
def test_an_embargo_that_is_no_number_of_years_is_left(tmp_path: Path, years: str) -> None:
    (tmp_path / "config.yaml").write_text(
        f"collections: {{a: {{embargo: {{newer: {{years: {years}}}}}}}}}"
    )
    (found,) = pywb_collections(tmp_path)
    assert found.years == 0 and "access add embargo" in found.left[0]


def test_a_collection_whose_name_nwx_does_not_allow_is_left(tmp_path: Path) -> None:
    for name in ("Zürich", "lamps"):
        (tmp_path / "collections" / name / "archive").mkdir(parents=True)
    (tmp_path / "config.yaml").write_text("default_access: block")
    zurich, lamps = pywb_collections(tmp_path)
    assert (lamps.left, lamps.action) == ((), "block")
    assert "not a valid collection name" in zurich.left[0]
    assert (zurich.archives, zurich.action) == ((), "")


@pytest.mark.parametrize("text", ["collections: [a]", "["])
def test_settings_that_cannot_be_read_are_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(Exception, match=r"config\.yaml"):
        pywb_collections(tmp_path)
