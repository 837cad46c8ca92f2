"""Resources in the order in which capturing them again mends most pages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from nwx.engine.base import Engine
from nwx.links.missing_urls import spellings
from nwx.quality.repairs.check_lacks import check_lacks
from nwx.quality.repairs.greedy_order import Repaired, greedy_order
from nwx.quality.repairs.link_lacks import NEVER_CAPTURED, RepairLimits, link_lacks
from nwx.quality.repairs.merged_lacks import MergedLacks
from nwx.quality.repairs.repair_question import RepairQuestion

USUAL_REPAIR_LIMITS = RepairLimits()
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Repair:
    """A missing resource, and what capturing it again mends.

    `pages` lack it, and `whole` of them lack nothing else once it and those
    before it in the list are captured. `checked` of the pages missed it when
    their playback was checked; the others link to it. `kind` is that of most
    links, "" where it is not known. `status` is the lowest of its captures,
    None where it was never captured.
    """

    url: str
    kind: str
    pages: int
    whole: int
    checked: int
    status: int | None


@dataclass(frozen=True, slots=True)
class RepairCounts:
    """What a list of repairs is made of.

    `pages` lack something, `resources` are missing. `checked` captures of
    pages had been checked; `linked` tells that links were inverted.
    `left_out` resources (of checks: pairs of one and a page) were too many, or
    nothing tells their URLs; pages that lack them stay broken. `unseen` linked
    ones, which fewest pages need, were not looked up.
    """

    pages: int
    resources: int
    checked: int
    linked: bool
    left_out: int
    unseen: int


class RepairList:
    """The repairs of an archive, in the order of `greedy_order`.

    Pages are known by their urlkeys. Of resources that count alike, the one
    that more pages lack comes first, then what is linked, by urlkey.
    """

    def __init__(
        self, engine: Engine, question: RepairQuestion, limits: RepairLimits = USUAL_REPAIR_LIMITS
    ) -> None:
        """Find what pages lack: with links where these were inverted, with checks where any are."""
        self._engine = engine
        table = engine.inlink_index().table()
        self._linked = None if table is None else link_lacks(engine, table, question, limits)
        room = limits.pairs - (len(self._linked.page) if self._linked else 0)
        self._checks = check_lacks(engine, question, max(room, 0))
        merged = MergedLacks(self._linked, self._checks)
        self._of_check = merged.of_check
        self._left_out = merged.left_out + self._checks.left_out
        self._lacks = merged.lacks
        self._checked = merged.checked
        pages = self._lacks.pages_by_resource()
        self._order = np.lexsort((np.arange(len(pages)), -pages))
        self._pages = pages

    def counts(self) -> RepairCounts:
        """Return what the list is made of."""
        linked = self._linked
        return RepairCounts(
            self._lacks.broken_pages(),
            self._lacks.resources,
            self._checks.checked,
            linked is not None,
            self._left_out + (linked.left_out if linked else 0),
            linked.unseen if linked else 0,
        )

    def is_current(self) -> bool:
        """Tell whether nothing was written to the archive since links were inverted."""
        linked = self._linked
        notes = linked.needed.table.notes if linked else None
        return notes is None or notes.stamp == self._engine.inlink_index().stamp()

    def repairs(self) -> Iterator[Repair]:
        """Stream the repairs; what nothing spells any more is left out."""
        steps = greedy_order(self._lacks.in_order(self._order))
        while some := list(islice(steps, _AT_ONCE)):
            numbers = [int(self._order[step.resource]) for step in some]
            urls = self._urls(numbers)
            for step, number in zip(some, numbers, strict=True):
                if number in urls:
                    yield self._repair(step, number, urls[number])

    def _repair(self, step: Repaired, number: int, url: str) -> Repair:
        linked, own = self._linked, self._of_check.get(number)
        kind, status = "", None
        if linked and number < len(linked.needed):
            kind = linked.needed.table.notes.kinds[int(linked.needed.kind[number])]
            found = int(linked.status[number])
            status = None if found == NEVER_CAPTURED else found
        elif own is not None:
            kind, status = self._checks.resources[own].kind, self._checks.resources[own].status
        pages, checked = int(self._pages[number]), int(self._checked[number])
        return Repair(url, kind, pages, step.whole, checked, status)

    def _urls(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the URLs of resources as pages spell them, or else as checks do."""
        found = {
            number: self._checks.resources[own].url
            for number in numbers
            if (own := self._of_check.get(number)) is not None
        }
        if self._linked is not None:
            linked = [number for number in numbers if number < len(self._linked.needed)]
            some = self._linked.needed.only(np.array(linked, dtype=np.int64))
            keys = some.keys()
            spelled = spellings(self._engine, some.table, keys, some.document)
            own_urls = zip(linked, map(spelled.get, keys), strict=True)
            found |= {number: url for number, url in own_urls if url}
        return {number: url for number, url in found.items() if url}
