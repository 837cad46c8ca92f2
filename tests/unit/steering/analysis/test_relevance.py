"""The relevance of links, and its parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.steering.analysis.links.link_roles import LinkRole
from nwx.steering.analysis.relevance import LinkEvidence, RelevanceFormula, near_score
from nwx.steering.specifications.specification import ScoreWeights

SHARES = st.floats(0, 1)


def test_a_link_with_all_in_its_favour_has_relevance_one() -> None:
    formula = RelevanceFormula(ScoreWeights(), 0.1, 0.9)
    number, parts = formula.relevance(LinkEvidence(1.0, LinkRole.CONTENT, preferred=True))
    assert number == pytest.approx(1)
    assert set(parts) == {"document", "near", "role", "preferred", "novelty"}


def test_a_link_with_nothing_in_its_favour_has_relevance_zero() -> None:
    formula = RelevanceFormula(ScoreWeights(), 0.1, 0.0)
    assert formula.relevance(LinkEvidence(0.0, LinkRole.LOGIN, new=False))[0] == 0


@given(
    st.builds(LinkEvidence, SHARES, st.sampled_from(LinkRole), st.booleans(), st.booleans()),
    st.builds(ScoreWeights, *[st.floats(0, 10)] * 5),
    SHARES,
    SHARES,
)
def test_the_parts_add_up(
    evidence: LinkEvidence, weights: ScoreWeights, relevant: float, score: float
) -> None:
    number, parts = RelevanceFormula(weights, relevant, score).relevance(evidence)
    assert 0 <= number <= 1
    assert sum(parts.values()) == pytest.approx(number, abs=1e-5)


def test_more_terms_near_a_link_make_a_higher_score() -> None:
    scores = [near_score([1.0] * count) for count in range(4)]
    assert scores == sorted(scores)
    assert scores[0] == 0
    assert scores[-1] < 1
    assert near_score([-5.0]) == 0
