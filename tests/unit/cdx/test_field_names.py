"""One table names the fields of a capture for all formats and clients."""

import pytest

from nwx.cdx.cdxj import cdxj_fields
from nwx.cdx.field_names import CDX_FIELDS, CDXJ_PLACES, FIELD_PLACES, LETTERS, ORIGINAL_FIELDS
from nwx.cdx.layouts import CDX11, CDX14, LAYOUTS, NO_VALUE, Layout, field_chooser
from nwx.cdx.lines import line_values, parse_cdx
from nwx.cdx.rows import CdxRow, row_parser

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
    line = parse_cdx(text.encode(), layout)
    row = row_parser(layout, "")(text)
    assert [value or NO_VALUE for value in line_values(line)] == expected
    if len(layout.letters) != 9:
        assert list(row[: len(CDX_FIELDS)]) == expected


def test_values_of_cdxj_stand_where_those_of_cdx_do() -> None:
    fields, extra = cdxj_fields(
        "k", "2014", '{"mime_type": "a/b", "status": 200, "url": null, "digest": "-", "x": 1}'
    )
    assert dict(zip(CDX_FIELDS, fields, strict=True)) == {
        **dict.fromkeys(CDX_FIELDS, NO_VALUE),
        "urlkey": "k",
        "timestamp": "2014",
        "url": "http://k",
        "mime": "a/b",
        "status": "200",
    }
    assert extra == {"x": "1"}
