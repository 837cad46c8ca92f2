"""The relevance of links, and its parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.steering.analysis.links.link_roles import LinkRole
from nwx.steering.analysis.relevance import LinkEvidence, RelevanceFormula, near_score
from nwx.steering.specifications.specification import ScoreWeights

SHARES = st.floats(0, 1)
FORMULA = RelevanceFormula(ScoreWeights(), 0.1)


def test_a_link_with_all_in_its_favour_has_relevance_one() -> None:
    number, parts = FORMULA.relevance(LinkEvidence(0.9, 1.0, LinkRole.CONTENT, True, 1.0))
    assert number == pytest.approx(1)
    assert set(parts) == {"document", "near", "role", "preferred", "novelty"}


def test_a_link_with_nothing_in_its_favour_has_relevance_zero() -> None:
    assert FORMULA.relevance(LinkEvidence(0, 0, LinkRole.LOGIN, False, 0))[0] == 0


@given(
    st.builds(LinkEvidence, SHARES, SHARES, st.sampled_from(LinkRole), st.booleans(), SHARES),
    st.builds(ScoreWeights, *[st.floats(0, 10)] * 5),
    SHARES,
)
def test_the_parts_add_up(evidence: LinkEvidence, weights: ScoreWeights, relevant: float) -> None:
    number, parts = RelevanceFormula(weights, relevant).relevance(evidence)
    assert 0 <= number <= 1
    assert sum(parts.values()) == pytest.approx(number, abs=1e-5)


def test_more_terms_near_a_link_make_a_higher_score() -> None:
    scores = [near_score([1.0] * count) for count in range(4)]
    assert scores == sorted(scores)
    assert scores[0] == 0
    assert scores[-1] < 1
    assert near_score([-5.0]) == 0
