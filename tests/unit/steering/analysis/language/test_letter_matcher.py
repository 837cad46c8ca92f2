"""Names found by their letters."""

import re

from hypothesis import given
from hypothesis import strategies as st

from nwx.steering.analysis.language.folded_text import fold_text
from nwx.steering.analysis.language.letter_matcher import MOST_MATCHES, LetterMatcher

NAMES = st.text(alphabet="aé b", min_size=1, max_size=4).filter(str.strip)


def test_without_names_nothing_is_found() -> None:
    assert LetterMatcher([]).matches("text") == []
    assert LetterMatcher([("  ", 1)]).matches("text") == []


def test_matches_are_bounded() -> None:
    assert len(LetterMatcher([("a", 1)]).matches("a " * 100_000)) == MOST_MATCHES


@given(st.lists(NAMES, min_size=1, max_size=4), st.text(alphabet="aéAb ", max_size=40))
def test_a_name_is_found_where_an_expression_finds_it(names: list[str], text: str) -> None:
    plain = {fold_text(" ".join(name.split())): number for number, name in enumerate(names[::-1])}
    longest = sorted(plain, key=len, reverse=True)
    expression = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
    expected = [
        (match[0], match.start(), match.end()) for match in expression.finditer(fold_text(text))
    ]
    found = LetterMatcher((name, plain[name]) for name in plain).matches(text)
    by_number = {number: name for name, number in plain.items()}
    assert [(by_number[number], first, end) for number, first, end in found] == expected
