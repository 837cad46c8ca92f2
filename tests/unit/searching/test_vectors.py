"""Splitting texts into passages; builds are tested on each engine (tests/conformance)."""

from hypothesis import given
from hypothesis import strategies as st

from nwx.searching.vectors import passage_spans


@given(st.text(alphabet="ab \n", max_size=3_000), st.integers(1, 30))
def test_passages_are_the_whole_text(text: str, times: int) -> None:
    spans = list(passage_spans(text * times))
    whole = (text * times)[: 64 * 600]
    assert "".join(whole[start:end] for start, end in spans) == (whole if spans else "")
    assert all(end - start <= 1_200 for start, end in spans) and len(spans) <= 64
    assert bool(spans) == (len(whole.strip()) >= 20)
