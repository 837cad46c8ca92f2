"""The selected captures in the order of the answer."""

from urllib.parse import quote_plus

import pytest

from nwx.cdx.rows import extra_fields
from nwx.cdxserver.output import pieces, resume_key
from nwx.cdxserver.query_model import IA, parameters_of
from nwx.cdxserver.query_parser import parse_cdx_query
from nwx.cdxserver.selection import SelectedRows
from tests.unit.cdxserver.rows import ListSource, row

YEARS = ListSource(
    [row("", f"{year}0101000000", digest=f"D{year // 2}") for year in range(2000, 2010)]
    + [row("", "20100101000000", mime="warc/revisit"), row("x", "20050101000000")]
)


def years(query: str) -> list[int]:
    asked = parse_cdx_query(parameters_of(f"url=a.example&{query}"), IA)
    return [int(one.timestamp[:4]) for one in SelectedRows(asked, YEARS)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [*range(2000, 2011)]),
        ("limit=2", [2000, 2001]),
        ("limit=2&offset=3", [2003, 2004]),
        ("limit=-2", [2008, 2009]),
        ("from=2003&to=2005", [2003, 2004, 2005]),
        ("sort=reverse&limit=2", [2010, 2009]),
        ("sort=closest&closest=20050601&limit=3", [2005, 2006, 2004]),
        ("collapse=digest&filter=!mimetype:warc/revisit", [2000, 2002, 2004, 2006, 2008]),
        ("collapseToLast=digest&to=2003", [2001, 2003]),
        ("filter=timestamp:2007.*", [2007]),
    ],
)
def test_rows_come_as_asked(query: str, expected: list[int]) -> None:
    assert years(query) == expected


def test_an_answer_can_be_resumed() -> None:
    asked = parse_cdx_query(parameters_of("url=a.example&limit=4&showResumeKey=true"), IA)
    first = SelectedRows(asked, YEARS)
    assert [int(one.timestamp[:4]) for one in first] == [2000, 2001, 2002, 2003]
    assert first.resume is not None
    assert first.resume.timestamp.startswith("2003")


def test_revisits_are_told_where_their_original_lies() -> None:
    asked = parse_cdx_query(parameters_of("url=a.example&resolveRevisits=true"), IA)
    source = ListSource(
        [
            row("", "2001", offset="5"),
            row("", "2002", mime="warc/revisit"),
            row("", "2003", mime="warc/revisit", digest="OTHER"),
            row("", "2004", offset="6"),
        ]
    )
    rows = list(SelectedRows(asked, source))
    assert [extra_fields(one).get("orig.offset") for one in rows] == [None, "5", None, None]
    text = b"".join(pieces(SelectedRows(asked, source), asked, IA)).decode()
    ends = [line.split(" ")[7:] for line in text.splitlines()]
    assert ends[:2] == [["-", "-", "-"], ["100", "5", "A.warc.gz"]]


@pytest.mark.parametrize(
    "query",
    [
        "from=2002",
        "sort=reverse",
        "filter=mimetype:warc/revisit",
        "closest=20030101000000&sort=closest",
        "offset=1&limit=2",
    ],
)
def test_originals_are_told_that_do_not_come_before_their_revisits(query: str) -> None:
    question = f"url=a.example&resolveRevisits=true&{query}"
    asked = parse_cdx_query(parameters_of(question), IA)
    source = ListSource(
        [
            row("", "20010101000000", offset="5"),
            row("", "20020101000000", mime="warc/revisit"),
            row("", "20030101000000", mime="warc/revisit"),
            row("", "20040101000000", offset="7"),
            row("", "20050101000000", digest="-"),
            row("", "20060101000000", digest="-", mime="warc/revisit"),
        ]
    )
    places = {
        one.timestamp[:4]: extra_fields(one).get("orig.offset")
        for one in SelectedRows(asked, source)
    }
    assert {year: place for year, place in places.items() if place} == {"2002": "5", "2003": "5"}


def test_a_resume_key_may_be_encoded_twice() -> None:
    query = "url=a.example&limit=2&showResumeKey=true&resumeKey="
    key, seen = "", []
    while True:
        asked = parse_cdx_query(parameters_of(f"{query}{quote_plus(key)}"), IA)
        found = SelectedRows(asked, YEARS)
        seen += [int(one.timestamp[:4]) for one in found]
        if found.resume is None:
            break
        key = resume_key(found.resume)
    assert seen == [*range(2000, 2011)]
