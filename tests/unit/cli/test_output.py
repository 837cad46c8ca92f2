"""Texts written to a terminal."""

import pytest

from nwx.cli.output import clean, counted, span_words


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [(0, "error", "0 errors"), (1, "error", "1 error"), (2000, "entry", "2,000 entries")],
)
def test_counted(count: int, noun: str, words: str) -> None:
    assert counted(count, noun) == words


def test_clean_removes_what_steers_a_terminal() -> None:
    assert clean("a\x1b[31mb\u202ec\n") == "a\ufffd[31mb\ufffdc "


def test_a_span_of_one_day_is_that_day() -> None:
    assert span_words("20140126200624", "20140126235959") == "2014-01-26"
    assert span_words("20140126200624", "20150126200624") == "2014-01-26 to 2015-01-26"
