"""Timestamps of 14 digits read many at once, eight digits in a machine word."""

import numpy as np
from numpy.typing import NDArray

_DATE = 1_000_000  # timestamps are date * _DATE + time
_HIGH_NIBBLES = np.uint64(0xF0F0F0F0F0F0F0F0)
_ZEROS = np.uint64(0x3030303030303030)
_SIXES = np.uint64(0x0606060606060606)
_SIX_BYTES = np.uint64(0x0000FFFFFFFFFFFF)
_TWO_ZEROS = np.uint64(0x3030000000000000)
_STEPS = tuple(
    (np.uint64(factor), np.uint64(shift), np.uint64(mask))
    for factor, shift, mask in (
        (10, 8, 0x00FF00FF00FF00FF),
        (100, 16, 0x0000FFFF0000FFFF),
        (10_000, 32, 0x00000000FFFFFFFF),
    )
)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LEAP_DAY = 229


def _days_of_a_year() -> NDArray[np.bool_]:
    found = np.zeros(10_000, np.bool_)
    for month, days in enumerate(_DAYS, 1):
        found[month * 100 + 1 : month * 100 + days + 1] = True
    return found


_DAY_EXISTS = _days_of_a_year()


def timestamps_of(digits: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the numbers that the first 14 of 16 bytes a row are, and which are instants."""
    words = digits.view("<u8")
    date_word, time_word = words[:, 0], (words[:, 1] & _SIX_BYTES) | _TWO_ZEROS
    good = _are_digits(date_word) & _are_digits(time_word)
    date, time = _value(date_word), _value(time_word) // 100
    year = date // 10_000
    day = np.where(good, date - year * 10_000, 0)
    good &= _DAY_EXISTS[day] & (year > 0)
    hour, minute = time // 10_000, time // 100
    good &= (hour < 24) & (minute - hour * 100 < 60) & (time - minute * 100 < 60)
    leap = day == _LEAP_DAY
    if leap.any():
        good &= ~leap | ((year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0)))
    return date * _DATE + time, good


def _are_digits(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    low: NDArray[np.bool_] = words & _HIGH_NIBBLES == _ZEROS
    low &= words + _SIXES & _HIGH_NIBBLES == _ZEROS
    return low


def _value(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the numbers that words of eight digits are, first digit in the lowest byte."""
    values = words - _ZEROS
    for factor, shift, mask in _STEPS:
        values = values * factor + (values >> shift) & mask
    return values.view(np.int64)
