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


class LinkEvidence(NamedTuple):
    """What is known of a link, each in [0, 1].

    `document` is the score of its page, `near` that of the text near the
    link, `role` the role, `preferred` whether a rule prefers it, `novelty`
    whether the URL is new.
    """

    document: float
    near: float
    role: LinkRole
    preferred: bool
    novelty: float


def near_score(strengths: Iterable[float]) -> float:
    """Return the score of the text near a link, in [0, 1).

    `strengths` are those of the terms found, times where they are: one of
    mean weight in the anchor gives 0.63, two 0.86.
    """
    total = math.fsum(strengths)
    return 1 - math.exp(-total) if total > 0 else 0.0


class RelevanceFormula:
    """The parts of relevance, weighted: each is its value in [0, 1] times its share of the weights.

    `relevant` is the document score from which a page is relevant.
    """

    def __init__(self, weights: ScoreWeights, relevant: float) -> None:
        total = weights.document + weights.near + weights.role + weights.preferred + weights.novelty
        share = 1 / total if total > 0 else 0.0
        self._document = weights.document * share
        self._near = weights.near * share
        self._roles = {role: worth * weights.role * share for role, worth in ROLE_WORTH.items()}
        self._preferred = weights.preferred * share
        self._novelty = weights.novelty * share
        self._likely = _LIKELY * relevant

    def relevance(self, evidence: LinkEvidence) -> tuple[float, dict[str, float]]:
        """Return the relevance of a link, in [0, 1], and its parts, which add up to it."""
        likely = self._likely
        document = min(1.0, evidence.document / likely) if likely > 0 else 1.0
        parts = {
            "document": round(self._document * document, _DIGITS),
            "near": round(self._near * evidence.near, _DIGITS),
            "role": round(self._roles[evidence.role], _DIGITS),
            "preferred": round(self._preferred, _DIGITS) if evidence.preferred else 0.0,
            "novelty": round(self._novelty * evidence.novelty, _DIGITS),
        }
        return min(1.0, round(sum(parts.values()), _DIGITS)), parts
