"""Field orders, and the headers that declare them."""

import pytest

from nwx.cdx.layouts import (
    CDX9,
    CDX10,
    CDX11,
    CDX14,
    CDX_FIELDS,
    CDXJ_PLACES,
    FIELD_PLACES,
    LAYOUTS,
    LETTERS,
    NO_VALUE,
    ORIGINAL_FIELDS,
    Layout,
    field_chooser,
    format_header,
    parse_header,
    require_fields,
    without_file_is_revisit,
)
from nwx.cdx.rows import CdxRow, extra_fields, parse_cdx, parse_cdxj, row_parser
from nwx.errors import CdxError


@pytest.mark.parametrize("layout", [CDX9, CDX11, Layout("bak", "\t"), Layout("ab", "|")])
def test_a_header_that_is_written_is_read(layout: Layout) -> None:
    assert parse_header(format_header(layout).encode()) == layout


@pytest.mark.parametrize("line", [b"", b"CDX", b" CDXJ", b"org,a)/ 2020 http://a/", b"CDX ab"])
def test_other_lines_are_no_headers(line: bytes) -> None:
    assert parse_header(line) is None


@pytest.mark.parametrize("line", [b" CDX N b", b" CDX a k", b" CDX N|b a"])
def test_a_header_without_a_date_or_url_or_of_two_delimiters_is_an_error(line: bytes) -> None:
    with pytest.raises(CdxError):
        parse_header(line)


def test_a_date_and_a_url_are_required() -> None:
    require_fields(Layout("ba"))
    with pytest.raises(CdxError, match="timestamp"):
        require_fields(Layout("a"))


def test_the_first_letter_that_a_layout_has_counts() -> None:
    assert (CDX11.place("NA"), CDX11.place("cdk"), CDX11.place("x")) == (0, 5, -1)
    assert field_chooser(Layout("Aab"))(["k", "u", "t"])[:3] == ("k", "t", "u")
    assert field_chooser(Layout("Aab"))(["k", "u", "t"])[3:] == (NO_VALUE,) * 8


def test_only_nine_fields_tell_revisits_by_a_missing_file() -> None:
    assert [without_file_is_revisit(layout) for layout in (CDX9, CDX10, CDX11)] == [
        True,
        False,
        False,
    ]


VALUES = "k 20140101000000 http://a/ text/html 200 AAAA http://b/ X 5 7 f.warc".split()


def test_a_row_begins_with_the_fields_in_their_order() -> None:
    assert CdxRow._fields[: len(CDX_FIELDS)] == CDX_FIELDS
    assert FIELD_PLACES["collection"] == CdxRow._fields.index("collection")
    assert "".join(letters[0] for letters in LETTERS) == CDX11.letters
    assert all(CDX_FIELDS[place] == name for name, place in CDXJ_PLACES.items())
    assert len(CDX14.letters) == len(CDX_FIELDS) + len(ORIGINAL_FIELDS)


@pytest.mark.parametrize("layout", [*LAYOUTS.values(), Layout("aAcbv"), Layout("gVkab")])
def test_rows_and_lines_read_the_same_of_every_layout(layout: Layout) -> None:
    by_letter = {
        letter: value for letters, value in zip(LETTERS, VALUES, strict=True) for letter in letters
    }
    values = [by_letter[letter] for letter in layout.letters]
    chosen = field_chooser(layout)(values)
    expected = [
        value if set(letters) & set(layout.letters) else NO_VALUE
        for letters, value in zip(LETTERS, VALUES, strict=True)
    ]
    assert list(chosen) == expected
    text = layout.delimiter.join(values)
    for row in (parse_cdx(text.encode(), layout), row_parser(layout, "")(text)):
        if len(layout.letters) != 9:
            assert list(row[: len(CDX_FIELDS)]) == expected


def test_values_of_cdxj_stand_where_those_of_cdx_do() -> None:
    row = parse_cdxj(
        b'k 2014 {"mime_type": "a/b", "status": 200, "url": null, "digest": "-", "x": 1}'
    )
    assert dict(zip(CDX_FIELDS, row, strict=False)) == {
        **dict.fromkeys(CDX_FIELDS, NO_VALUE),
        "urlkey": "k",
        "timestamp": "2014",
        "url": "http://k",
        "mime": "a/b",
        "status": "200",
    }
    assert extra_fields(row) == {"x": "1"}
