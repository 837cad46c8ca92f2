"""From parameters to an answer."""

import json
from xml.etree import ElementTree

import pytest

from nwx.cdxserver.query_model import IA, OUTBACK, PYWB, Dialect, Paging, parameters_of
from nwx.cdxserver.query_parser import parse_cdx_query
from nwx.cdxserver.server import CdxServer, answer_xml, blocks_of, of_page, page_count
from nwx.errors import CdxQueryError
from tests.unit.cdxserver.rows import SHA, ListSource, row

SERVER = CdxServer(
    [
        ListSource([row("", f"{year}0101000000") for year in (2000, 2002, 2004)]),
        ListSource([row("", f"{year}0101000000") for year in (2001, 2003, 2004)]),
    ]
)


def answer(query: str, dialect: Dialect = IA) -> str:
    found = SERVER.answer(parameters_of(query), dialect)
    return b"".join(found.pieces).decode()


def test_sources_are_merged_in_order_without_repeats() -> None:
    lines = answer("url=a.example&fl=timestamp").splitlines()
    assert [line[:4] for line in lines] == ["2000", "2001", "2002", "2003", "2004"]


def test_the_default_line_of_each_dialect() -> None:
    bare = SHA.removeprefix("sha1:")
    assert answer("url=a.example&limit=1") == (
        f"example,a)/ 20000101000000 http://a.example/ text/html 200 {bare} 100\n"
    )
    key, timestamp, rest = answer("url=a.example&limit=1", PYWB).split(" ", 2)
    assert (key, timestamp) == ("example,a)/", "20000101000000")
    assert json.loads(rest)["digest"] == SHA
    assert len(answer("url=a.example&limit=1", OUTBACK).split(" ")) == 11


def test_json_has_a_row_of_names_in_front() -> None:
    rows = json.loads(answer("url=a.example&limit=2&output=json&fl=timestamp,statuscode"))
    assert rows == [
        ["timestamp", "statuscode"],
        ["20000101000000", "200"],
        ["20010101000000", "200"],
    ]
    assert json.loads(answer("url=b.example&output=json")) == []


def test_pages_are_counted_as_the_dialect_counts_them() -> None:
    assert answer("url=a.example&showNumPages=true&pageSize=1") == "3\n"
    counted = json.loads(answer("url=a.example&showNumPages=true&pageSize=2", PYWB))
    assert counted == {"pages": 2, "pageSize": 2, "blocks": 3}
    assert answer("url=a.example&page=99") == ""


def test_all_pages_together_are_the_answer() -> None:
    whole = answer("url=a.example&fl=timestamp")
    pages = [answer(f"url=a.example&fl=timestamp&pageSize=1&page={page}") for page in range(4)]
    assert "".join(pages) == whole


def test_a_page_past_the_last_is_an_error_of_pywb() -> None:
    with pytest.raises(CdxQueryError, match="last page is"):
        answer("url=a.example&page=99", PYWB)


SOURCE = ListSource([row(f"p{number}", "20100101000000") for number in range(7)])
QUERY = parse_cdx_query(parameters_of("url=a.example/*"), IA)


@pytest.mark.parametrize(("size", "pages"), [(1, 4), (3, 2), (10, 1)])
def test_page_count(size: int, pages: int) -> None:
    assert page_count(blocks_of(QUERY, SOURCE), Paging(0, size, count=False)) == pages


def test_pages_divide_the_captures() -> None:
    blocks = blocks_of(QUERY, SOURCE)
    found = []
    for number in range(2):
        page = of_page(QUERY, Paging(number, 3, count=False), blocks, IA)
        assert page is not None
        found.append([one.url for one in SOURCE.rows(page.span)])
    assert [len(urls) for urls in found] == [6, 1]
    assert of_page(QUERY, Paging(2, 3, count=False), blocks, IA) is None


XML_SOURCE = ListSource(
    [
        row("", "20100101000000"),
        row("", "20120101000000"),
        row("b", "20110101000000", redirect="<&"),
    ]
)


def asked(q: str) -> ElementTree.Element:
    pieces = answer_xml(parameters_of(f"q={q}"), XML_SOURCE)
    return ElementTree.fromstring(b"".join(pieces))


def test_captures_of_a_url_with_the_closest_marked() -> None:
    root = asked("type:urlquery+url:http%253A%252F%252Fa.example%252F+date:20111201000000")
    results = root.findall("results/result")
    assert [one.findtext("capturedate") for one in results] == ["20100101000000", "20120101000000"]
    assert [one.findtext("closest") for one in results] == [None, "true"]
    assert root.findtext("request/numreturned") == "2"


def test_urls_that_begin_so() -> None:
    results = asked("type:prefixquery+url:http%253A%252F%252Fa.example%252F").findall(
        "results/result"
    )
    assert [one.findtext("numcaptures") for one in results] == ["2", "1"]


def test_values_are_escaped() -> None:
    results = asked("url:http%253A%252F%252Fa.example%252Fb").findall("results/result")
    assert results[0].findtext("redirecturl") == "<&"


def test_nothing_found_is_said() -> None:
    root = asked("url:http%253A%252F%252Fnowhere.example%252F")
    assert root.findtext("error/title") == "Resource Not In Archive"


@pytest.mark.parametrize("q", ["", "nonsense", "type:other+url:a", "type:urlquery"])
def test_what_makes_no_sense_is_an_error(q: str) -> None:
    with pytest.raises(CdxQueryError):
        asked(q)
