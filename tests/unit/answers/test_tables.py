"""Charts of tables in notebooks."""

from nwx.answers.tables import rows_by_year


def test_years_without_rows_are_left_out_only_around_wrong_dates() -> None:
    assert rows_by_year(["2010", "2012", "2010"]) == {"2010": 2, "2011": 0, "2012": 1}
    assert rows_by_year(["9999", "2010", "0201"]) == {"0201": 1, "2010": 1, "9999": 1}
    assert rows_by_year([]) == {}
