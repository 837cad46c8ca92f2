"""Test how alike texts are: beside `tests/golden`, which has the numbers of js-levenshtein."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.quality.measures import texts
from nwx.quality.measures.texts import text_match

_TEXTS = st.text(alphabet="ab \n\U0001f99c", max_size=30)


def _distance(first: str, second: str) -> int:
    """Return the Levenshtein distance, by the plain recurrence."""
    row = list(range(len(second) + 1))
    for place, sign in enumerate(first, 1):
        above, row = row, [place]
        for other, letter in enumerate(second, 1):
            row.append(min(above[other] + 1, row[-1] + 1, above[other - 1] + (sign != letter)))
    return row[-1]


def _units(text: str) -> str:
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(data[place] | data[place + 1] << 8) for place in range(0, len(data), 2))


@settings(deadline=None)
@given(_TEXTS, _TEXTS)
def test_the_match_is_that_of_the_plain_recurrence(first: str, second: str) -> None:
    units = _units(first), _units(second)
    longer = max(map(len, units))
    expected = 1 - _distance(*units) / longer if longer else 1
    assert text_match(first, second) == pytest.approx(expected)


@settings(deadline=None)
@given(_TEXTS, _TEXTS)
def test_a_match_is_symmetric_and_a_share(first: str, second: str) -> None:
    assert text_match(first, second) == text_match(second, first)
    assert 0 <= text_match(first, second) <= 1
    assert (text_match(first, second) == 1) == (first == second)


@settings(deadline=None)
@given(_TEXTS, _TEXTS)
def test_long_texts_never_match_better_in_pieces(first: str, second: str) -> None:
    whole = text_match(first, second)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "PIECE_CHARACTERS", 4)
        assert text_match(first, second) <= whole + 1e-9
        assert text_match(first, first) == 1


def test_very_long_texts_are_compared_in_pieces() -> None:
    line = "The lamp burns all night.\n"
    long = line * 100_000
    assert text_match(long, long + "the end") == pytest.approx(1 - 7 / len(long + "the end"))
    changed = long[:1_000_000] + "x" + long[1_000_001:]
    assert text_match(long, changed) == pytest.approx(1 - 1 / len(long))
    assert text_match(long, "") == 0
