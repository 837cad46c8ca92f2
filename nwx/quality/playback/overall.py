"""The overall score of a page in playback, from its parts.

It is the mean of what is known, resources counting twice: the share of
resources that came (style sheets weigh more than images), the screenshots
(mean of equal pixels and of structure), and the text. Each kind of fault of
FLAWS takes a tenth off, a page that was not loaded in time half; one that
crashed, redirected without end or brought nothing has 0.
"""

from collections.abc import Iterable, Sequence

from nwx.engine.quality.quality_index import Fault
from nwx.quality.browser.page_render import PageRender
from nwx.quality.measures.page_likeness import PageLikeness
from nwx.quality.measures.resource_counts import FIRST_BAD
from nwx.quality.playback.suspects import Suspect
from nwx.values.fault_kinds import FaultKind

FLAWS = frozenset({FaultKind.LEAK, FaultKind.CONSOLE, FaultKind.FAR, FaultKind.REFUSED})
"""Faults beside which a page may look as it should."""

WEIGHTS = {"document": 5, "stylesheet": 8, "script": 4, "media": 3, "image": 2}
"""How much a resource counts by its type; others count 1."""

_FATAL = frozenset({FaultKind.CRASH, FaultKind.REDIRECT_LOOP})
_LOST = frozenset({FaultKind.MISSING, FaultKind.FAILED})
_RESOURCES_COUNT = 2
_FLAW_FACTOR, _TIMEOUT_FACTOR = 0.9, 0.5


def overall_score(
    render: PageRender,
    likeness: PageLikeness,
    faults: Sequence[Fault],
    suspects: Iterable[Suspect],
) -> float:
    """Return the score of a page, 0 (nothing plays) to 1 (nothing is wrong)."""
    kinds = {FaultKind(fault.kind) for fault in faults}
    came = {one.url: one.type for one in render.resources if 0 < one.status < FIRST_BAD}
    if kinds & _FATAL or not came:
        return 0.0
    types = {one.url: one.type for one in suspects}
    lost = {fault.resource for fault in faults if fault.kind in _LOST}
    if render.task.url in lost:
        return 0.0
    good, bad = _weight(came.values()), _weight(types.get(url, "") for url in lost)
    parts = [(good / (good + bad), _RESOURCES_COUNT), *((each, 1) for each in _likeness(likeness))]
    mean = sum(value * weight for value, weight in parts) / sum(weight for _, weight in parts)
    mean *= _TIMEOUT_FACTOR if FaultKind.TIMEOUT in kinds else 1
    return float(mean * _FLAW_FACTOR ** len(kinds & FLAWS))


def _likeness(likeness: PageLikeness) -> list[float]:
    compared = likeness.comparison
    pictures = [each for each in (compared.screenshot, likeness.structure) if each is not None]
    found = [sum(pictures) / len(pictures)] if pictures else []
    return found if compared.text is None else [*found, compared.text]


def _weight(types: Iterable[str]) -> int:
    return sum(WEIGHTS.get(type.lower(), 1) for type in types)
