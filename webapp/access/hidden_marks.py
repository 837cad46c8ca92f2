"""Marks of what readers do not see, for curators and administrators, who see it."""

from collections.abc import Sequence
from dataclasses import dataclass

from nwx.access.restricted.engine import RestrictedEngine
from nwx.engine.access.rules import EVERYBODY, Action
from webapp.site.context import service, unrestricted_engine
from webapp.site.viewer import viewer


@dataclass(frozen=True, slots=True)
class HiddenMark:
    """What readers do not see of a document: `hidden` of its `captures`, and why, if it is all.

    `action` is None, and `reason` "", where they see some captures.
    """

    hidden: int
    captures: int
    action: Action | None = None
    reason: str = ""


def hidden_marks(ids: Sequence[str]) -> dict[str, HiddenMark]:
    """Return the marks of those of some documents of which readers do not see all.

    To readers none are shown: what is hidden from them has no mark.
    """
    if not viewer().sees_all:
        return {}
    everybody = service().engines.for_viewer(EVERYBODY)
    if not isinstance(everybody, RestrictedEngine):
        return {}
    own, shown = unrestricted_engine().dates(ids), everybody.dates(ids)
    marks = {}
    for id, dates in own.items():
        seen = len(shown[id].seen) if id in shown else 0
        if seen < len(dates.seen):
            marks[id] = _mark(everybody, id, len(dates.seen) - seen, len(dates.seen))
    return marks


def _mark(everybody: RestrictedEngine, id: str, hidden: int, captures: int) -> HiddenMark:
    decision = everybody.decision(id) if hidden == captures else None
    if decision is None or not decision.is_hidden:
        return HiddenMark(hidden, captures)
    reason = decision.rule.reason if decision.rule else ""
    return HiddenMark(hidden, captures, decision.action, reason)
