"""Captures of which only the values are there."""

from dataclasses import replace

from nwx.capture_values import DEFAULT_VALUES, CaptureValues, capture_of_values, values_of
from tests.unit.engine.embedded.making import page

CAPTURES = [page(1).capture, replace(page(2).capture, digest="", document_id="")]


def test_captures_come_back_from_their_values() -> None:
    rows = values_of(CAPTURES)
    assert list(map(capture_of_values, rows)) == CAPTURES
    held = CaptureValues(rows)
    assert list(held) == CAPTURES
    assert (len(held), held[1], list(held[:1])) == (2, CAPTURES[1], CAPTURES[:1])
    assert values_of(held) is rows


def test_values_at_the_end_may_be_left_out() -> None:
    (whole,) = values_of(CAPTURES[:1])
    short = whole[: -len(DEFAULT_VALUES)]
    assert [*short, *DEFAULT_VALUES.values()] == [*whole]
    assert capture_of_values(short) == CAPTURES[0]
