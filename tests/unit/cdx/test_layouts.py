"""Orders of fields and the headers that announce them."""

import pytest

from nwx.cdx.layouts import (
    CDX9,
    CDX10,
    CDX11,
    NO_VALUE,
    Layout,
    field_chooser,
    format_header,
    parse_header,
    require_fields,
    without_file_is_revisit,
)
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
