"""Dates from lists are added to an archive once."""

import gzip
from pathlib import Path

import pytest

from nwx.access.restricted_engine import RestrictedEngines
from nwx.cdx.inputs import CdxSource
from nwx.dedup import added_dates
from nwx.dedup.added_dates import (
    DatesLists,
    ListsRead,
    add_dates,
    build_dates,
    dates_report_json,
    orphans,
    read_dates,
)
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import open_engine
from nwx.errors import CdxError
from nwx.keys import document_id
from nwx.model import Dates
from nwx.query.question import Question
from nwx.settings import Settings
from tests.unit.access.archives import archive_of_pages

SHA1 = "sha1:HWPS2CRKHHSMHYFG5DRL2OFUXG4KJJ6B"
LINES = f"2010 {SHA1} http://a/\n2011 {SHA1} http://a/\nbroken\n2012 {SHA1} http://b/\n"


def lists(tmp_path: Path, *, strict: bool = False) -> DatesLists:
    (tmp_path / "list").write_text(LINES)
    return DatesLists((CdxSource(str(tmp_path / "list"), held=True),), "web", strict=strict)


def test_dates_are_added_once_and_keys_without_documents_counted(tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
        first = dates_report_json(add_dates(engine, lists(tmp_path)))
        again = dates_report_json(add_dates(engine, lists(tmp_path)))
        keys = [one.key for one in orphans(engine)]
    assert (first["lines"], first["keys"], first["dates_new"]) == (3, 2, 3)
    assert (again["dates_new"], again["dates_known"]) == (0, 3)
    assert first["keys_without_document"] == 2
    assert first["problems"][0]["line"] == 3
    assert sorted(keys) == [f"http://a/ {SHA1}", f"http://b/ {SHA1}"]


def test_a_strict_list_adds_nothing_when_a_line_is_broken(tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
        with pytest.raises(CdxError, match="list:3"):
            add_dates(engine, lists(tmp_path, strict=True))
        assert list(orphans(engine)) == []


def test_an_index_of_documents_only_leaves_other_keys_out(tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
        report = build_dates(engine, (), "all", lists(tmp_path), documents_only=True)
    assert (report.keys, report.left_out, report.orphans) == (0, 2, 2)


def test_added_dates_that_rules_hide_are_hidden_at_once(tmp_path: Path) -> None:
    scope = Scope(prefix="test,shown)/", date_from="20150101000000")
    with archive_of_pages(tmp_path / "archive") as engine:
        engine.access_index().put([AccessRule("", Action.EXCLUDE, scope)], "eva")
        engines = RestrictedEngines(engine)
        (capture, *_) = engine.captures("test,shown)/1")
        assert engines.for_viewer(EVERYBODY).search(Question("year:2019")).documents.value == 0
        line = f"20190101000000 {capture.digest} {capture.url}\n"
        (tmp_path / "list").write_text(line)
        sources = (CdxSource(str(tmp_path / "list"), held=True),)
        assert add_dates(engine, DatesLists(sources, "web")).new == 1
        # A new rule with small effects keeps the cached state of hidden documents valid.
        further = AccessRule("", Action.EXCLUDE, Scope(prefix="test,hidden)/"))
        engine.access_index().put([further], "eva")
        assert engine.search(Question("year:2019")).documents.value == 1
        assert engines.for_viewer(EVERYBODY).search(Question("year:2019")).documents.value == 0


HEX = "3D9F2D0A2A39E4C3E0A6E8E2BD38B4B9B8A4A7C1"
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
    # One key with more dates than fit in memory: it cannot be split.
    lines += [f"201101{n // 24 + 1:02}{n % 24:02} {SHA1} {URL}\n" for n in range(300)]
    whole, _ = read(tmp_path, "".join(lines))
    monkeypatch.setattr(added_dates, "HELD_BYTES", 8_000)
    monkeypatch.setattr(added_dates, "AT_ONCE", 50)
    parts, lists = read(tmp_path, "".join(lines))
    assert len(parts) > 40
    assert one_by_one(parts) == one_by_one(whole)
    assert lists.lines == len(lines)
    ids = [document_id(one.key) for one in one_by_one(parts)]
    assert ids == sorted(set(ids))
    assert list((tmp_path / "work").iterdir()) == []
