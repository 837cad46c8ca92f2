"""Prefixes looked up by the texts that have them."""

from hypothesis import given
from hypothesis import strategies as st

from nwx.engine.access.prefix_set import PrefixSet

TEXTS = st.text("ab,)", max_size=6)


@given(st.sets(TEXTS, max_size=12), TEXTS, TEXTS)
def test_prefixes_are_found_as_by_looking_at_each(
    prefixes: set[str], text: str, other: str
) -> None:
    found = PrefixSet(prefixes)
    held = [prefix for prefix in prefixes if text.startswith(prefix)]
    assert list(found.of(text)) == sorted(held, key=len, reverse=True)
    assert found.holds(text) == bool(held)
    start, end = sorted((text, other))
    reached = any(start.startswith(prefix) or start <= prefix < end for prefix in prefixes)
    assert found.reaches(start, end) == (reached and start < end)
