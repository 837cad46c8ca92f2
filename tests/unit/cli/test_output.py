"""Texts on their way to a terminal."""

import pytest

from nwx.cli.output import clean, counted


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [(0, "error", "0 errors"), (1, "error", "1 error"), (2000, "entry", "2,000 entries")],
)
def test_counted(count: int, noun: str, words: str) -> None:
    assert counted(count, noun) == words


def test_clean_removes_what_steers_a_terminal() -> None:
    assert clean("a\x1b[31mb\u202ec\n") == "a\ufffd[31mb\ufffdc "
