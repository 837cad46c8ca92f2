"""No cell of a CSV file is a formula."""

import csv

import pytest

from nwx.values.csv_cells import csv_line


@pytest.mark.parametrize("value", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_begins_a_formula_is_quoted(value: str) -> None:
    [row] = csv.reader([csv_line([value, "plain", 7, -7], "")])
    assert row == [f"'{value}", "plain", "7", "-7"]
