"""The relevance of a link: one number, and the parts that add up to it.

All that is to be tuned about links is here: the worth of roles, what near a
link counts, and how the parts are joined.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from nwx.steering.analysis.links.link_roles import LinkRole
from nwx.steering.specifications.specification import ScoreWeights

ROLE_WORTH = {
    LinkRole.CONTENT: 1.0,
    LinkRole.PAGINATION: 0.6,
    LinkRole.NAVIGATION: 0.4,
    LinkRole.COMMENT: 0.2,
    LinkRole.CALENDAR: 0.1,
    LinkRole.ADVERTISEMENT: 0.0,
    LinkRole.LOGIN: 0.0,
}
"""How much a role counts for the relevance of a link."""

ANCHOR, LINE, HEADING, AROUND = 1.0, 0.6, 0.4, 0.25
"""How much a term counts in the anchor or the URL, in the same line, the heading above, around."""

_LIKELY = 2.0  # times the threshold of relevant pages, at which a document score counts in full
_DIGITS = 6


def near_score(strengths: Iterable[float]) -> float:
    """Return the score of the text near a link, in [0, 1).

    `strengths` are those of the terms found, times where they are: one of
    mean weight in the anchor gives 0.63, two 0.86.
    """
    total = math.fsum(strengths)
    return 1 - math.exp(-total) if total > 0 else 0.0


class LinkEvidence(NamedTuple):
    """What is known of a link: the score of the text near it in [0, 1], its role, the rest.

    `preferred` tells whether a rule prefers it, `new` whether the URL is not captured yet.
    """

    near: float
    role: LinkRole
    preferred: bool = False
    new: bool = True


class RelevanceFormula:
    """The relevance of the links of one page.

    Each part is a value in [0, 1] times its share of the weights. `score` is
    that of the page, `relevant` the one from which a page is relevant.
    """

    def __init__(self, weights: ScoreWeights, relevant: float, score: float) -> None:
        total = weights.document + weights.near + weights.role + weights.preferred + weights.novelty
        share = 1 / total if total > 0 else 0.0
        likely = _LIKELY * relevant
        document = min(1.0, score / likely) if likely > 0 else 1.0
        self._document = round(weights.document * share * document, _DIGITS)
        self._near = weights.near * share
        self._role = weights.role * share
        self._preferred = round(weights.preferred * share, _DIGITS)
        self._novelty = round(weights.novelty * share, _DIGITS)

    def relevance(self, evidence: LinkEvidence) -> tuple[float, dict[str, float]]:
        """Return the relevance of a link, in [0, 1], and its parts, which add up to it."""
        document = self._document
        near = round(self._near * evidence.near, _DIGITS)
        role = round(self._role * ROLE_WORTH[evidence.role], _DIGITS)
        preferred = self._preferred if evidence.preferred else 0.0
        novelty = self._novelty if evidence.new else 0.0
        total = round(document + near + role + preferred + novelty, _DIGITS)
        parts = {
            "document": document,
            "near": near,
            "role": role,
            "preferred": preferred,
            "novelty": novelty,
        }
        return min(1.0, total), parts
