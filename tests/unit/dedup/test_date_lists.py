"""Lists of dates are read as the dates of keys, whatever their form and size."""

import gzip
from pathlib import Path

import pytest

from nwx.cdx.inputs import CdxSource
from nwx.dedup import date_lists
from nwx.dedup.date_lists import ListsRead, read_dates
from nwx.errors import CdxError
from nwx.keys import document_id
from nwx.model import Dates

HEX = "3D9F2D0A2A39E4C3E0A6E8E2BD38B4B9B8A4A7C1"
SHA1 = "sha1:HWPS2CRKHHSMHYFG5DRL2OFUXG4KJJ6B"
URL = "http://example.org/a?b=c"
KEY = f"{URL} {SHA1}"


def read(
    folder: Path, *texts: str | bytes, strict: bool = False, collection: str = "web"
) -> tuple[list[list[Dates]], ListsRead]:
    sources = []
    for number, text in enumerate(texts):
        path = folder / f"list-{number}"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        sources.append(CdxSource(str(path), held=True))
    found = ListsRead()
    work = folder / "work"
    work.mkdir(exist_ok=True)
    stretches = list(read_dates(sources, collection, work, found, strict=strict))
    for ids, held in stretches:
        assert ids == [document_id(one.key) for one in held]
    return [held for _, held in stretches], found


def one_by_one(stretches: list[list[Dates]]) -> list[Dates]:
    return [one for stretch in stretches for one in stretch]


@pytest.mark.parametrize(
    "line",
    [
        f"20100203 {SHA1} {URL}",
        f"20100203000000 {SHA1[5:]} {URL}",
        f"{URL} {HEX} 20100203000000",
        f"{URL} sha1:{HEX.lower()} 201002030000",
        f"org,example)/a?b=c 20100203000000 {URL} text/html 200 {SHA1[5:]} - - 10 0 a.warc.gz",
        f"org,example)/a?b=c 20100203000000 {URL} text/html 200 {SHA1[5:]} - 0 a.warc.gz",
        f" CDX a k b\n{URL} {SHA1} 20100203",
        f'org,example)/a?b=c 20100203000000 {{"url": "{URL}", "digest": "{SHA1}"}}',
    ],
)
def test_every_form_gives_the_same_dates(tmp_path: Path, line: str) -> None:
    found, lists = read(tmp_path, line + "\n")
    assert found == [[Dates(KEY, (("20100203000000", "web"),))]]
    assert (lists.lines, lists.problems_total) == (1, 0)


def test_compressed_lists_and_several_at_once(tmp_path: Path) -> None:
    later, earlier = f"2012 {SHA1} {URL}\n", f"{URL} {SHA1} 2010\n{URL} {SHA1} 2012\n"
    found, lists = read(tmp_path, gzip.compress(later.encode(), mtime=0), earlier)
    seen = (("20100101000000", "web"), ("20120101000000", "web"))
    assert found == [[Dates(KEY, seen)]]
    assert lists.lines == 3


def test_bad_lines_are_named_and_passed_over(tmp_path: Path) -> None:
    lines = [
        f"2010 {SHA1} {URL}",
        "2010 nothing",
        f"20101301 {SHA1} {URL}",
        "",
        f"2011 - {URL}",
        f"2012 {SHA1} {URL}\r",
        f"2013 {SHA1} http://{'x' * 20_000}/",
        f"2014 {SHA1} http://example.org/\udce9".encode("utf-8", "surrogateescape").decode(
            "latin-1"
        ),
        f"2015 {SHA1} {URL}",
    ]
    found, lists = read(tmp_path, "\n".join(lines).encode("latin-1"))
    assert [problem.line for problem in lists.problems] == [2, 3, 7]
    assert all(problem.file == str(tmp_path / "list-0") for problem in lists.problems)
    assert (lists.lines, lists.without_digest, lists.problems_total) == (4, 1, 3)
    keys = {one.key: [date[:4] for date, _ in one.seen] for one in one_by_one(found)}
    assert keys == {KEY: ["2010", "2012", "2015"], f"http://example.org/é {SHA1}": ["2014"]}


def test_strict_stops_at_the_first_bad_line(tmp_path: Path) -> None:
    with pytest.raises(CdxError, match=r"list-0:2: "):
        read(tmp_path, f"2010 {SHA1} {URL}\nnothing\n2011 {SHA1} {URL}\n", strict=True)


def test_what_is_no_digest_stands_for_itself(tmp_path: Path) -> None:
    found, _ = read(tmp_path, f"2010 abc123 {URL}\n")
    assert one_by_one(found) == [Dates(f"{URL} abc123", (("20100101000000", "web"),))]


def test_nothing_gives_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "", f"2010 - {URL}\n")[0] == []


def test_more_than_fits_in_memory_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        f"2010{month:02} {SHA1} http://example.org/{page * 7 % 400}\n"
        for month in range(1, 13)
        for page in range(400)
    ]
    # One key with more dates than are held: it cannot be cut.
    lines += [f"201101{n // 24 + 1:02}{n % 24:02} {SHA1} {URL}\n" for n in range(300)]
    whole, _ = read(tmp_path, "".join(lines))
    monkeypatch.setattr(date_lists, "HELD_BYTES", 8_000)
    monkeypatch.setattr(date_lists, "AT_ONCE", 50)
    parts, lists = read(tmp_path, "".join(lines))
    assert len(parts) > 40
    assert one_by_one(parts) == one_by_one(whole)
    assert lists.lines == len(lines)
    ids = [document_id(one.key) for one in one_by_one(parts)]
    assert ids == sorted(set(ids))
    assert list((tmp_path / "work").iterdir()) == []
