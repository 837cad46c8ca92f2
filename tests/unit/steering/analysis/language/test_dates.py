"""Dates in texts."""

import pytest

from nwx.steering.analysis.language.dates import MOST_DATES, dates_in
from nwx.steering.analysis.language.dictionary_model import DictionaryModel


def found(text: str) -> list[str]:
    return [name.text for name in dates_in(DictionaryModel().read(text, "en"))]


@pytest.mark.parametrize(
    "text",
    [
        "2002-08-12",
        "12.8.2002",
        "12. 08. 2002",
        "12 August 2002",
        "12. August 2002",
        "12th of August, 2002",
        "August 12, 2002",
        "Aug. 12th, 2002",
        "12 août 2002",
        "12 de agosto de 2002",
    ],
)
def test_dates_are_written_alike(text: str) -> None:
    assert found(f"On {text} it rained") == ["2002-08-12"]


@pytest.mark.parametrize("text", ["8/12/2002", "August 2002", "99.99.2002", "2002-13-40", "2002"])
def test_what_is_no_date_is_left_out(text: str) -> None:
    assert found(f"On {text} it rained") == []


def test_a_date_may_be_cut_at_the_end() -> None:
    assert [found(text) for text in ("2002-08-", "2002-08-12", "2002-")] == [[], ["2002-08-12"], []]


def test_dates_are_bounded() -> None:
    assert len(found("2002-08-12 " * (MOST_DATES + 5))) == MOST_DATES
