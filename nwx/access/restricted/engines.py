"""An archive as each class of viewers may see it."""

import threading
from datetime import datetime

from cachetools import LRUCache

from nwx.access.restricted.engine import RestrictedEngine
from nwx.engine.access.decisions import AccessRules, Decisions
from nwx.engine.access.rules import EVERYBODY, Viewer
from nwx.engine.base import Engine

_KEPT = 32


def restricted_to(engine: Engine, viewer: Viewer, now: datetime | None = None) -> Engine:
    """Return an engine as a viewer may see it: itself, where nothing is hidden."""
    rules = engine.access_index().rules()
    return _shown(engine, rules, rules.for_viewer(viewer, now))


def _shown(
    engine: Engine, rules: AccessRules, decisions: Decisions, before: Engine | None = None
) -> Engine:
    if decisions.hides_nothing:
        return engine
    # What everybody may see is what most ask for: that is worth keeping for other processes.
    is_usual = decisions.key == rules.for_viewer(EVERYBODY).key
    known = before if isinstance(before, RestrictedEngine) else None
    return RestrictedEngine(engine, decisions, keeps_state=is_usual, before=known)


class RestrictedEngines:
    """The engines that show an archive, one for each class of viewers; threads may share it.

    A change of the rules holds from the next call on.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._guard = threading.Lock()
        self._kept: LRUCache[str, Engine] = LRUCache(_KEPT)
        self._last: Engine | None = None

    def has_rules(self) -> bool:
        """Tell whether there are any rules, so that it matters who asks."""
        return bool(self._engine.access_index().rules().rules)

    def for_viewer(self, viewer: Viewer) -> Engine:
        """Return the archive as a viewer may see it: the engine itself, where nothing is hidden."""
        if viewer.sees_all:
            return self._engine
        rules = self._engine.access_index().rules()
        decisions = rules.for_viewer(viewer)
        if decisions.hides_nothing:
            return self._engine
        with self._guard:
            shown = self._kept.get(decisions.key)
            if shown is None:
                shown = _shown(self._engine, rules, decisions, self._last)
                self._kept[decisions.key] = self._last = shown
            return shown
