"""Years and months."""

from nwx.query.periods import Period


def test_the_digits_that_name_a_period() -> None:
    assert {period: "20130615120000"[: period.digits] for period in Period} == {
        Period.MONTH: "201306",
        Period.YEAR: "2013",
    }
