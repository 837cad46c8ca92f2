"""Exclusion lists, compared with sets of lines."""

import gzip
import random
from pathlib import Path

import pytest
import zstandard

import nwx
from nwx.cdx.layouts import DATE_FIRST
from nwx.cdx.rows import format_cdx
from nwx.dedup.exclusion_lists import ExclusionList
from nwx.errors import SourceError

A, B = "A" * 32, "B" * 32
HEX_OF_A = "0" * 40
URL = "http://example.org/"


def _write(tmp_path: Path, text: str, name: str = "list.dup") -> str:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return str(path)


def test_both_orders_and_all_spellings(tmp_path: Path) -> None:
    text = (
        f"20140101000000 {A} {URL}\n{URL}b sha1:{B} 2015\n2016 {HEX_OF_A} {URL}c d\n2017 - {URL}\n"
    )
    with ExclusionList.load([_write(tmp_path, text)], tmp_path) as exclusion:
        assert exclusion.covers(URL, f"sha1:{A}", "20140101000000")
        assert exclusion.covers(f"{URL}b", B, "20150101000000")
        assert exclusion.covers(f"{URL}c%20d", f"sha1:{A}", "20160101000000")
        assert exclusion.covers(URL, "", "20170101000000")
        assert not exclusion.covers(URL, f"sha1:{A}", "20140101000001")
        assert not exclusion.covers(URL, f"sha1:{B}", "20140101000000")
        assert not exclusion.covers(f"{URL}b", f"sha1:{A}", "20140101000000")
        assert (exclusion.lines, exclusion.entries, exclusion.met) == (4, 4, 4)
        assert list(exclusion.unmet()) == []


def test_urls_that_are_no_utf8_are_those_of_the_reader(tmp_path: Path) -> None:
    long = "e" * 2000
    text = f"2014 {A} {URL}caf\xe9\n2015 {A} {URL}\xe9{long}\n2016 {B} {URL}\xe9?\n2017 {A} {URL}\n"
    path = tmp_path / "list.dup"
    path.write_bytes(text.encode("latin-1"))
    with ExclusionList.load([str(path)], tmp_path) as exclusion:
        assert exclusion.covers(f"{URL}caf\xe9", A, "20140101000000")
        assert exclusion.covers(f"{URL}\xe9{long}", A, "20150101000000")
        assert exclusion.covers(URL, A, "20170101000000")
        assert not exclusion.covers(f"{URL}caf\xc3\xa9", A, "20140101000000")
        assert exclusion.met == 3
        [unmet] = exclusion.unmet()
        assert unmet.url.encode("utf-8", "surrogateescape") == f"{URL}\xe9?".encode("latin-1")


def test_an_import_reports_the_lines_of_a_list_that_it_cannot_read(tmp_path: Path) -> None:
    wrong = _write(tmp_path, f"2014 {A} {URL}\nroot:x:0:0\n")
    crawl = _write(tmp_path, "", "crawl.warc")
    report = nwx.open(tmp_path / "archive").import_(crawl, exclude=wrong, jobs=1)
    [error] = (one for one in report.errors if one.kind == "exclude")
    assert error.file == wrong and error.message.startswith("line 2: expected `date digest url`")


def test_what_was_met_and_what_never_was(tmp_path: Path) -> None:
    lines = [f"2014 {A} {URL}{number}" for number in range(10)]
    first = _write(tmp_path, "\n".join([*lines, lines[3]]), "first")
    second = tmp_path / "second.gz"
    second.write_bytes(gzip.compress(f"{URL}x {B} 2015\n".encode(), mtime=0))
    with ExclusionList.load([first, str(second)], tmp_path) as exclusion:
        for number in (3, 3, 7):
            assert exclusion.covers(f"{URL}{number}", A, "20140101000000")
        assert (exclusion.lines, exclusion.entries, exclusion.met) == (12, 11, 2)
        unmet = [lines[number] for number in (0, 1, 2, 4, 5, 6, 8, 9)]
        found = [format_cdx(line, DATE_FIRST) for line in exclusion.unmet()]
        assert found == [*unmet, f"2015 {B} {URL}x"]


def test_many_lines_are_told_exactly(tmp_path: Path) -> None:
    chance = random.Random(5)
    urls = [f"http://example.org/{'p' * chance.randint(0, 1200)}{n}" for n in range(3000)]
    dates = [f"20{chance.randint(10, 20)}0101{chance.randint(0, 235959) % 240000:06}" for _ in urls]
    dates = [date[:10] + "0000" for date in dates]
    captures = list(zip(urls, dates, strict=True))
    listed = set(captures[::3])
    text = "".join(f"{date} {A} {url}\n" for url, date in listed)
    path = tmp_path / "list.zst"
    path.write_bytes(zstandard.compress(text.encode()))
    with ExclusionList.load([str(path)], tmp_path, memory_bytes=1 << 20) as exclusion:
        assert {each for each in captures if exclusion.covers(each[0], A, each[1])} == listed
        assert exclusion.met == len(listed)


def test_broken_lines_are_told(tmp_path: Path) -> None:
    text = f"2014 {A} {URL}\nnonsense\n{URL} {A} 20140231\n{URL} 2014 {A}\n"
    with ExclusionList.load([_write(tmp_path, text)], tmp_path) as exclusion:
        assert exclusion.lines == 1
        assert [problem.line for problem in exclusion.problems] == [2, 3, 4]


def test_an_empty_list_covers_nothing(tmp_path: Path) -> None:
    with ExclusionList.load([_write(tmp_path, "")], tmp_path) as exclusion:
        assert not exclusion.covers(URL, A, "20140101000000")
        assert exclusion.entries == 0


def test_no_file_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    exclusion = ExclusionList.load([_write(tmp_path, f"2014 {A} {URL}\n")], folder)
    assert list(folder.iterdir())
    exclusion.close()
    exclusion.close()
    assert not list(folder.iterdir())


def test_a_missing_list_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be opened"):
        ExclusionList.load([str(tmp_path / "none")], tmp_path)
