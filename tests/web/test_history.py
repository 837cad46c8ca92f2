"""The history of a URL, its calendar and its chart."""

import pytest

from nwx.keys import capture_key, document_id, document_key
from nwx.model import Capture, Dates
from tests.web.archive import capture
from webapp.search import history
from webapp.search.history import History, busy_days, months_of, read_history, year_bars

URL = "http://a.example/"
FIRST = capture(URL, "20100101000000", "first", 1)
AGAIN = capture(URL, "20100105000000", "first", 2, record_type="revisit")
OTHER = capture(URL, "20110101000000", "second", 3)


def _dates(*timestamps: str) -> Dates:
    return Dates(document_key(URL, FIRST.digest), tuple((t, "default") for t in timestamps))


def _history(captures: list[Capture], dates: Dates, year: str = "2010") -> History:
    return read_history(FIRST.document_id, dates, captures, year)


def test_captures_of_all_versions_are_counted() -> None:
    found = _history([FIRST, AGAIN, OTHER], _dates("20100101000000", "20100105000000"))
    assert found.total == 3
    assert found.years == {"2010": 2, "2011": 1}
    assert found.own_days == {"20100101": 1, "20100105": 1}
    assert [moment.timestamp for moment in found.moments] == ["20100101000000", "20100105000000"]
    assert found.places == [FIRST, AGAIN]


def test_dates_without_a_record_are_moments_too() -> None:
    found = _history([OTHER], _dates("20100101000000", "20100101000000"))
    assert found.total == 3
    assert [moment.own for moment in found.moments] == [True, True]
    assert found.places == []


def test_a_document_of_a_single_capture_has_its_date_and_place_only() -> None:
    captures = [FIRST, AGAIN, OTHER]
    key = capture_key(AGAIN)
    dates = Dates(key, ((AGAIN.timestamp, "default"),))
    found = read_history(document_id(key), dates, captures, "2010")
    assert (found.total, found.places) == (3, [AGAIN])
    assert found.own_days == {"20100105": 1}


def test_versions_count_their_captures() -> None:
    found = _history([FIRST, AGAIN, OTHER], _dates())
    versions = list(found.versions.values())
    assert [(v.first, v.last, v.captures) for v in versions] == [
        ("20100101000000", "20100105000000", 2),
        ("20110101000000", "20110101000000", 1),
    ]


def test_lists_are_cut_and_counts_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_MOMENTS", 1)
    monkeypatch.setattr(history, "MOST_PLACES", 1)
    monkeypatch.setattr(history, "MOST_VERSIONS", 1)
    found = _history([FIRST, AGAIN, OTHER], _dates())
    assert (len(found.moments), found.total) == (1, 3)
    assert (len(found.places), found.places_count) == (1, 2)
    assert (len(found.versions), found.captures_left_out) == (1, 1)


def test_the_calendar_has_all_days_of_the_year() -> None:
    months = months_of(_history([FIRST, AGAIN, OTHER], _dates()))
    days = [day for month in months for week in month.weeks for day in week if day]
    assert len(days) == 365
    assert [day.key for day in days if day.count] == ["20100101", "20100105"]
    assert [month.count for month in months] == [2] + [0] * 11
    assert [len(week) for month in months for week in month.weeks] == [7] * sum(
        len(month.weeks) for month in months
    )


def test_days_grow_warm_with_their_captures() -> None:
    captures = [capture(URL, f"201001{day:02}{n:06}", "first", n) for day, n in _times()]
    months = months_of(_history(captures, _dates()))
    heat = [day.heat for week in months[0].weeks for day in week if day and day.count]
    assert heat == [1, 2, 2, 3, 4]
    assert [day.count for day in busy_days(months)] == [2, 4, 5, 12]


def _times() -> list[tuple[int, int]]:
    return [(day, n) for day, count in enumerate((1, 2, 4, 5, 12), 1) for n in range(count)]


def test_a_damaged_year_has_a_calendar() -> None:
    assert len(months_of(_history([], _dates(), "0000"))) == 12


def test_bars_fill_the_years_between() -> None:
    bars = year_bars({"2010": 10, "2013": 1}, lambda year: f"/{year}", ["2013"])
    assert [(bar.label, bar.count) for bar in bars] == [
        ("2010", 10),
        ("2011", 0),
        ("2012", 0),
        ("2013", 1),
    ]
    assert [bar.height for bar in bars] == [100, 0, 0, 10]
    assert [bar.chosen for bar in bars] == [False, False, False, True]
    assert bars[0].address == "/2010"


def test_years_far_apart_leave_out_the_gaps() -> None:
    bars = year_bars({"0201": 1, "2010": 1_000, "9999": 1}, lambda year: year)
    assert [bar.label for bar in bars] == ["0201", "2010", "9999"]
    assert bars[0].height > 0


def test_no_years_no_bars() -> None:
    assert year_bars({}, lambda year: year) == []


def test_labels_stand_apart_and_the_last_is_named() -> None:
    bars = year_bars({"1980": 1, "2030": 1}, lambda year: year)
    labelled = [bar.label for bar in bars if bar.labelled]
    assert len(bars) == 51
    assert labelled[-1] == "2030"
    assert len(labelled) <= 12
