"""The relevance of a link: one number, and the parts that add up to it."""

import math
from typing import NamedTuple

from nwx.steering.specifications.specification import ScoreWeights

LIKELY = 2.0
"""So many times the threshold of relevant pages, a document score counts in full."""


class LinkEvidence(NamedTuple):
    """What is known of a link, each in [0, 1] but for `document`, the score of its page.

    `near` is the score of the text near the link, `role` the worth of its
    role, `preferred` whether a rule prefers it, `novelty` whether the URL is new.
    """

    document: float
    near: float
    role: float
    preferred: bool
    novelty: float


def relevance(
    evidence: LinkEvidence, weights: ScoreWeights, relevant: float
) -> tuple[float, dict[str, float]]:
    """Return the relevance of a link, in [0, 1], and its parts, which add up to it.

    Each part is its value in [0, 1] times its share of the weights.
    `relevant` is the document score from which a page is relevant.
    """
    total = math.fsum(weight for weight in _weights(weights).values()) or 1.0
    values = {
        "document": min(1.0, evidence.document / (LIKELY * relevant)) if relevant > 0 else 1.0,
        "near": evidence.near,
        "role": evidence.role,
        "preferred": float(evidence.preferred),
        "novelty": evidence.novelty,
    }
    parts = {name: values[name] * weight / total for name, weight in _weights(weights).items()}
    return min(1.0, math.fsum(parts.values())), parts


def _weights(weights: ScoreWeights) -> dict[str, float]:
    return {
        "document": weights.document,
        "near": weights.near,
        "role": weights.role,
        "preferred": weights.preferred,
        "novelty": weights.novelty,
    }
