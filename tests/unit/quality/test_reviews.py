"""Verdicts and marks of reviews."""

import pytest

from nwx.errors import UsageError
from nwx.quality.reviews import check_review


@pytest.mark.parametrize(
    ("verdict", "marked"),
    [
        ("best", ""),
        ("", ""),
        ("Bad", ""),
        ("bad", "1,2,3"),
        ("bad", "1,2,3,x"),
        ("bad", "1,2,3,-4"),
    ],
)
def test_what_is_no_review_is_an_error(verdict: str, marked: str) -> None:
    with pytest.raises(UsageError):
        check_review(verdict, marked)


@pytest.mark.parametrize("marked", ["", "0,0,100,100", "1.5,20.25,3,4"])
def test_verdicts_and_marks_are_taken(marked: str) -> None:
    for verdict in ("good", "usable", "bad"):
        check_review(verdict, marked)
