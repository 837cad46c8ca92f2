"""Judgements of pages, and how well scores agree with them."""

from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.steering.comparison.relevance import (
    JudgedSample,
    SimulationTruth,
    precision_of,
    read_judged_pages,
)
from tests.unit.steering.comparison.graphs import graph


def test_a_file_has_a_url_and_a_grade_a_line(tmp_path: Path) -> None:
    file = tmp_path / "judged.txt"
    file.write_text("# by two people\nhttp://a.org/ 2\n\nhttp://b.org/ 0\n")
    assert read_judged_pages(file) == {"http://a.org/": True, "http://b.org/": False}


def test_judgements_of_the_judging_page_are_read(tmp_path: Path) -> None:
    file = tmp_path / "judged.csv"
    rows = "a,http://a.org/,0,ann", "b,http://a.org/,2,bob", '"c, d",http://b.org/,0,'
    file.write_text("\n".join(("query,url,grade,judge", *rows)))
    assert read_judged_pages(file) == {"http://a.org/": True, "http://b.org/": False}
    file.write_text("url,grade\nhttp://b.org/,good\n")
    with pytest.raises(SourceError, match=r"judged.csv, line 2"):
        read_judged_pages(file)


@pytest.mark.parametrize("line", ["http://a.org/", "http://a.org/ good", "http://a.org/ 1 2"])
def test_another_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "judged.txt").write_text(f"http://b.org/ 1\n{line}\n")
    with pytest.raises(SourceError, match=r"judged.txt, line 2"):
        read_judged_pages(tmp_path / "judged.txt")
    (tmp_path / "judged.csv").write_text('url,grade\n"' + "x" * 200_000)
    with pytest.raises(SourceError, match="field larger than field limit"):
        read_judged_pages(tmp_path / "judged.csv")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_judged_pages(tmp_path / "none.txt")


def test_pages_of_spam_hosts_are_not_relevant_unless_judged() -> None:
    truth = SimulationTruth({"http://b.org/": True, "http://far.org/": True}, frozenset({"b.org"}))
    numbers = {"http://b.org/": 1}
    assert truth.by_page(["a.org", "b.org", "b.org"], numbers.get) == {1: True, 2: False}


def test_precision_is_the_share_of_relevant_pages_among_those_with_the_score() -> None:
    web = graph({}, {0: 0.9, 1: 0.9, 2: 0.1, 3: 0.1}, 4)
    judged = precision_of(web, {0: True, 1: False, 2: True, 3: False})
    assert judged == JudgedSample(pages=4, relevant=2, found=1, mistaken=1)
    assert judged.precision == 0.5
    assert precision_of(web, {}) is None
