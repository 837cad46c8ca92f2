"""Dates in cells of workbooks."""

import pytest

from nwx.extract.office.spreadsheet import CellFormat, CellStyles, cell_text, format_of
from tests import office_files as made
from tests.unit.extract.office.test_payload import read

DATE, TIME, MOMENT = CellFormat.DATE, CellFormat.TIME, CellFormat.MOMENT
NUMBER, ELAPSED = CellFormat.NUMBER, CellFormat.ELAPSED


@pytest.mark.parametrize(
    ("code", "shown_as"),
    [
        ("General", NUMBER),
        ("0.00E+00", NUMBER),
        ('#,##0 "days";[Red]-#,##0', NUMBER),
        (r"0\d", NUMBER),
        ("[Yellow]0_d", NUMBER),
        ("[$-407]d. mmmm yyyy;@", DATE),
        ("yyyy/mm/dd", DATE),
        ("mmm", DATE),
        ("h:mm AM/PM", TIME),
        ("mm:ss.0", TIME),
        ("dd/mm/yyyy hh:mm", MOMENT),
        ("[h]:mm:ss", ELAPSED),
    ],
)
def test_what_a_format_shows(code: str, shown_as: CellFormat) -> None:
    assert format_of(code) is shown_as


@pytest.mark.parametrize(
    ("value", "shown_as", "text"),
    [
        ("40299", DATE, "2010-05-01"),
        ("40299.75", DATE, "2010-05-01"),
        ("40299.5730902778", MOMENT, "2010-05-01 13:45:15"),
        ("40299", MOMENT, "2010-05-01"),
        ("40298.9999999", MOMENT, "2010-05-01"),
        ("0.5", TIME, "12:00:00"),
        ("0.5", MOMENT, "12:00:00"),
        ("1.25", ELAPSED, "30:00:00"),
        ("1", DATE, "1900-01-01"),
        ("59", DATE, "1900-02-28"),
        ("60", DATE, "60"),  # 29 February 1900, which never existed
        ("61", DATE, "1900-03-01"),
        ("2958465", DATE, "9999-12-31"),
        ("2958466", DATE, "2958466"),
        ("1e300", DATE, "1e300"),
        ("nan", DATE, "nan"),
        ("-1", DATE, "-1"),
        ("soon", DATE, "soon"),
        ("9" * 5_000, DATE, "9" * 5_000),
        ("40299", NUMBER, "40299"),
    ],
)
def test_what_a_number_is_shown_as(value: str, shown_as: CellFormat, text: str) -> None:
    assert cell_text(value, shown_as, from_1904=False) == text


def test_days_of_old_macs() -> None:
    assert cell_text("0", DATE, from_1904=True) == "1904-01-01"
    assert cell_text("38837", DATE, from_1904=True) == "2010-05-01"
    assert cell_text("2958465", DATE, from_1904=True) == "2958465"


def test_a_style_is_named_by_its_number() -> None:
    styles = CellStyles()
    styles.start("numFmt", {"numFmtId": "164", "formatCode": "d.m.yy"})
    styles.start("xf", {"numFmtId": "14"})  # of cellStyleXfs
    styles.start("cellXfs", {})
    for id in ("0", "14", "164", "x"):
        styles.start("xf", {"numFmtId": id})
    styles.end("cellXfs")
    assert [
        styles.shown_as(number) for number in ("0", "1", "2", "3", "4", "", "-1", "\u0663")
    ] == [*(NUMBER, DATE, DATE, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)]


def test_a_workbook_has_its_dates_in_its_text() -> None:
    styles = (
        '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd.mm.yyyy hh:mm"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>'
    )
    cells = (
        '<row><c s="1"><v>40299</v></c><c s="2" t="n"><v>40299.5</v></c><c s="0"><v>40299</v></c>'
        '<c s="1" t="str"><v>40299</v></c></row>'
    )
    workbook = made.xlsx([["a"]], data=cells, styles=styles)
    assert read(workbook).content == "Lamps\n2010-05-01 2010-05-01 12:00:00 40299 40299"
