"""Sorted lines as rows, in order and backwards."""

import pytest

from nwx.cdx.rows import row_parser
from nwx.cdxserver.sources.sorted_lines import LineReader, backwards, in_order, place_of_line
from nwx.errors import SourceError

PAGE = b"example,a)/ 2010 http://a.example/ text/html 200 - - - - 0 f"
REVISIT = b"example,a)/ 2011 http://a.example/ warc/revisit - - - - - 9 f\r"


@pytest.mark.parametrize(
    ("revisits", "timestamps"), [(None, ["2010", "2011"]), (True, ["2011"]), (False, ["2010"])]
)
def test_rows_are_chosen_by_what_they_are(revisits: bool | None, timestamps: list[str]) -> None:
    reader = LineReader("a.cdx", row_parser(None, "web"))
    rows = list(reader.rows([PAGE, b"broken", REVISIT], revisits))
    assert [row.timestamp for row in rows] == timestamps
    assert {row.filename for row in rows} == {"f"}
    assert reader.bad_lines == 1


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (b"a)/ 2010 more here", b"a)/ 2010"),
        (b"a)/ 2010", b"a)/ 2010"),
        (b"a)/", b"a)/"),
        (b"", b""),
    ],
)
def test_the_place_of_a_line_is_its_first_two_fields(line: bytes, place: bytes) -> None:
    assert place_of_line(line) == place


def test_lines_in_order_pass_and_empty_ones_do_not() -> None:
    assert list(in_order([b"a 1 x", b"", b"a 1 b", b"b 0 c"], "f")) == [
        b"a 1 x",
        b"a 1 b",
        b"b 0 c",
    ]


def test_a_line_out_of_order_is_an_error_that_names_the_file() -> None:
    lines = in_order([b"b 1 x", b"a 1 x"], "some.cdx")
    assert next(lines) == b"b 1 x"
    with pytest.raises(SourceError, match=r"some\.cdx is not sorted"):
        next(lines)


def test_few_lines_are_turned_round() -> None:
    assert list(backwards(iter([b"a", b"b", b"c"]))) == [b"c", b"b", b"a"]
