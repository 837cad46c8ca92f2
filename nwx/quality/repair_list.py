"""Missing resources, in the order in which capturing them completes most pages.

A page is complete when all its missing resources are captured. A page with n resources still
missing adds 1/n to the share of each. So resources missing in many pages with few others rank
first, and resources that complete pages rank before resources of pages that stay incomplete.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from json import dumps
from typing import NamedTuple

import numpy as np

from nwx.bulk.arrays import Array, is_new
from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import Review
from nwx.engine.inlinks.counts import spread
from nwx.links.missing_urls import MOST_SPELLED, spellings
from nwx.links.needed_urls import SourceNumbers
from nwx.quality.missing_resources import (
    NEVER_CAPTURED,
    CheckedMissing,
    LinkedMissing,
    MissingPairs,
    RepairLimits,
    RepairQuestion,
    checked_missing,
    linked_missing,
    missing_pairs,
    number_redirected,
)
from nwx.values.records import csv_lines

_WHOLE = 26_771_144_400
"""The total share of a page: divisible by 1 to 26, and 300 million pages fit 64 bits."""

_CHOSEN = -1
_BLOCK = 1_024


class Repaired(NamedTuple):
    """A resource by its number, and how many pages it completes after those before it."""

    resource: int
    whole: int


def greedy_order(missing: MissingPairs) -> Iterator[Repaired]:
    """Yield all resources, always the one with the highest share next, on ties the first.

    Shares are integers, so that the order does not depend on the order of pages. Pages with the
    same missing resources are counted as one group. The maximum of each block of resources is
    cached: shares only grow until a resource is chosen.
    """
    order = _Order(_grouped(missing), missing.resources)
    for _ in range(missing.resources):
        yield order.next()


class _Groups(NamedTuple):
    """Groups of pages with the same missing resources.

    The resources of group g are `resource[starts[g]:starts[g + 1]]`. `pages` is the number of its
    pages, `left` the number of resources still missing in each.
    """

    starts: Array
    resource: Array
    pages: Array
    left: Array


def _grouped(missing: MissingPairs) -> _Groups:
    begins = np.flatnonzero(np.diff(missing.page, prepend=-1))
    if not len(begins):
        none = np.zeros(0, dtype=np.int64)
        return _Groups(np.zeros(1, dtype=np.int64), none, none, none)
    lengths = np.diff(begins, append=len(missing.page))
    beyond = missing.beyond[missing.page[begins]].astype(np.int64)
    codes = np.random.default_rng(1).integers(0, 1 << 64, (2, missing.resources), np.uint64)
    # Two sums of 64 bits identify a set of resources.
    sums = [np.add.reduceat(one[missing.resource], begins) for one in codes]
    order = np.lexsort((beyond, lengths, *sums))
    new = np.zeros(len(order), dtype=bool)
    for column in (beyond, lengths, *sums):
        new |= is_new(column[order])
    first = order[new]
    counts = np.diff(np.flatnonzero(new), append=len(order))
    of, places = spread(np.append(begins, len(missing.page)), first)
    sizes = np.bincount(of, minlength=len(first))
    return _Groups(_starts(sizes), missing.resource[places], counts, sizes + beyond[first])


def _starts(sizes: Array) -> Array:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


class _Order:
    """The shares of resources, which change while resources are chosen."""

    def __init__(self, groups: _Groups, resources: int) -> None:
        self._groups = groups
        self._left = groups.left.copy()
        group = np.repeat(np.arange(len(groups.pages)), np.diff(groups.starts))
        self._groups_of = group[np.argsort(groups.resource, kind="stable")]
        self._group_starts = _starts(np.bincount(groups.resource, minlength=resources))
        blocks = -(-resources // _BLOCK)
        # The padding after the last resource counts as chosen.
        self._counted = np.full(blocks * _BLOCK, _CHOSEN, dtype=np.int64)
        self._counted[:resources] = 0
        np.add.at(self._counted, groups.resource, self._shares(group))
        self._best = self._counted.reshape(blocks, _BLOCK).max(axis=1, initial=_CHOSEN)

    def _shares(self, groups: Array) -> Array:
        """Return the share that each group adds to each of its missing resources."""
        shares: Array = self._groups.pages[groups] * (_WHOLE // self._left[groups])
        return shares

    def next(self) -> Repaired:
        """Choose the resource with the highest share."""
        block = int(self._best.argmax())
        counted = self._counted[block * _BLOCK : (block + 1) * _BLOCK]
        place = int(counted.argmax())
        counted[place] = _CHOSEN
        self._best[block] = counted.max()
        chosen = block * _BLOCK + place
        groups = self._groups_of[self._group_starts[chosen] : self._group_starts[chosen + 1]]
        return Repaired(chosen, self._capture(groups))

    def _capture(self, groups: Array) -> int:
        """Mark a resource of some groups as captured; return the number of pages completed."""
        before = self._shares(groups)
        self._left[groups] -= 1
        more = groups[self._left[groups] > 0]
        gains = self._shares(more) - before[self._left[groups] > 0]
        of, places = spread(self._groups.starts, more)
        resources = self._groups.resource[places]
        waiting = self._counted[resources] != _CHOSEN
        resources = resources[waiting]
        np.add.at(self._counted, resources, gains[of[waiting]])
        np.maximum.at(self._best, resources // _BLOCK, self._counted[resources])
        return int(self._groups.pages[groups[self._left[groups] == 0]].sum())


_HALF = np.uint64(32)
_LEFT_OUT = -1
_Find = Callable[[str], int | None]
_nowhere: _Find = lambda key: None  # noqa: E731


class MergedMissing:
    """Pages and resources from links and from playback checks, with common numbers.

    Numbers of the links are kept, entries found only by checks are appended: `of_check` maps each
    resource missing in checks to its number there. `checked` counts the checked pages by resource.
    `left_out` counts pairs of a page and a resource of unknown URL.
    """

    def __init__(self, linked: LinkedMissing | None, checks: CheckedMissing) -> None:
        """Number pages and resources of checks, with the numbers of links where these exist."""
        none = np.zeros(0, dtype=np.int64)
        pages = len(linked.beyond) if linked else 0
        resources = len(linked.needed) if linked else 0
        known = _Known(linked) if linked else None
        led_page, led = number_redirected(checks, linked)
        page_numbers, pages = _numbers(checks.pages, known.page if known else _nowhere, pages)
        find = known.resource if known else _nowhere
        own_numbers, resources = _numbers(
            checks.numbers, find, resources, lambda own: bool(checks.resources[own].url)
        )
        own_of = enumerate(own_numbers.tolist())
        self.of_check = {number: own for own, number in own_of if number != _LEFT_OUT}
        beyond = np.zeros(pages, dtype=np.int32)
        if linked:
            beyond[: len(linked.beyond)] = linked.beyond
        for page, more in checks.beyond.items():
            beyond[page_numbers[page]] += more
        own_page, resource = none, none
        if checks.page:
            own_page = page_numbers[np.frombuffer(checks.page, np.intc)]
            resource = own_numbers[np.frombuffer(checks.resource, np.intc)]
        listed = resource != _LEFT_OUT
        self.left_out = int(np.count_nonzero(~listed))
        np.add.at(beyond, own_page[~listed], 1)
        own_page, resource = own_page[listed], resource[listed]
        own = missing_pairs(own_page, resource, resources, beyond)
        self.checked = own.pages_by_resource()
        self.pairs = own
        if linked:
            self.pairs = missing_pairs(
                np.concatenate([linked.page, own_page, led_page]),
                np.concatenate([linked.resource, resource, own_numbers[led]]),
                resources,
                beyond,
            )


class _Known:
    """The numbers that pages and resources have in the links."""

    def __init__(self, linked: LinkedMissing) -> None:
        self._table = linked.needed.table
        self.page: _Find = SourceNumbers(self._table).find
        codes = linked.needed.part.astype(np.uint64) << _HALF | linked.needed.place.astype(
            np.uint64
        )
        self._numbers = np.argsort(codes)
        self._codes = codes[self._numbers]

    def resource(self, key: str) -> int | None:
        """Return the number of a resource, None if it is not missing by links."""
        for part in self._table.ranges(key, key):
            place = self._table.range(part).keys.find(key)
            if place is not None:
                code = np.uint64(part << 32 | place)
                at = int(np.searchsorted(self._codes, code))
                if at < len(self._codes) and self._codes[at] == code:
                    return int(self._numbers[at])
        return None


def _numbers(
    keys: dict[str, int], known: _Find, size: int, is_new: Callable[[int], bool] = lambda own: True
) -> tuple[Array, int]:
    """Return the numbers of urlkeys, new ones from `size` on, and the resulting size.

    Unknown urlkeys rejected by `is_new` get the number _LEFT_OUT.
    """
    numbers = np.full(len(keys), _LEFT_OUT, dtype=np.int64)
    for key, own in sorted(keys.items()):
        number = known(key)
        if number is None:
            if not is_new(own):
                continue
            number, size = size, size + 1
        numbers[own] = number
    return numbers, size


USUAL_REPAIR_LIMITS = RepairLimits()
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Repair:
    """A missing resource, and the pages that capturing it completes.

    `pages` lack it; `whole` of them lack nothing else once it and the resources before it in the
    list are captured. `checked` of the pages missed it in a playback check; the others link to it.
    `kind` is the kind of most links, "" if unknown. `status` is the lowest status of its captures,
    None if it was never captured. `original` is date, URL and digest of the missing original.
    """

    url: str
    kind: str
    pages: int
    whole: int
    checked: int
    status: int | None
    original: str = ""


@dataclass(frozen=True, slots=True)
class RepairCounts:
    """The totals of a repair list.

    `pages` lack a resource, `resources` are missing. `checked` captures of pages had been checked;
    `linked` means that links were inverted. `left_out` counts resources (in checks: pairs of a page
    and a resource) that were too many or of unknown URL; pages that lack them stay broken. `unseen`
    counts linked resources, needed by the fewest pages, that were not looked up.
    """

    pages: int
    resources: int
    checked: int
    linked: bool
    left_out: int
    unseen: int


class RepairList:
    """The repairs of an archive, in the order of `greedy_order`.

    Pages are identified by urlkey. Resources with equal shares are ordered by the number of pages
    that lack them, descending, then linked ones first, then by urlkey.
    """

    def __init__(
        self, engine: Engine, question: RepairQuestion, limits: RepairLimits = USUAL_REPAIR_LIMITS
    ) -> None:
        """Find missing resources: by links if these were inverted, and by checks."""
        self._engine = engine
        table = engine.inlink_index().table()
        self._linked = None if table is None else linked_missing(engine, table, question, limits)
        room = limits.pairs - (len(self._linked.page) if self._linked else 0)
        self._checks = checked_missing(engine, question, max(room, 0))
        merged = MergedMissing(self._linked, self._checks)
        self._of_check = merged.of_check
        self._left_out = merged.left_out + self._checks.left_out
        self._missing = merged.pairs
        self._checked = merged.checked
        pages = self._missing.pages_by_resource()
        self._order = np.lexsort((np.arange(len(pages)), -pages))
        self._pages = pages

    def counts(self) -> RepairCounts:
        """Return the totals of the list."""
        linked = self._linked
        return RepairCounts(
            self._missing.broken_pages(),
            self._missing.resources,
            self._checks.checked,
            linked is not None,
            self._left_out + (linked.left_out if linked else 0),
            linked.unseen if linked else 0,
        )

    def is_current(self) -> bool:
        """Return whether the archive is unchanged since links were inverted."""
        linked = self._linked
        notes = linked.needed.table.notes if linked else None
        return notes is None or notes.stamp == self._engine.inlink_index().stamp()

    def repairs(self) -> Iterator[Repair]:
        """Yield the repairs; resources of unknown URL are left out."""
        for some in batches(
            greedy_order(self._missing.in_order(self._order)), _AT_ONCE, MOST_SPELLED
        ):
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
        original = "" if own is None else self._checks.resources[own].original
        return Repair(url, kind, pages, step.whole, checked, status, original)

    def _urls(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the URLs of resources as spelled by pages, or else by checks."""
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


_COLUMNS = ("url", "kind", "pages", "whole", "checked", "status", "original")
_REVIEWED = ("verdict", "note", "reviewer")


def csv_of_repairs(
    counts: RepairCounts, repairs: Iterable[Repair], reviews: Iterable[Review]
) -> Iterator[str]:
    """Yield the lines of a CSV file: column names, repairs, and pages reviewed as bad or usable."""
    del counts
    missing = ([getattr(one, name) for name in _COLUMNS] for one in repairs)
    found = ([getattr(one, name, "") for name in (*_COLUMNS, *_REVIEWED)] for one in reviews)
    rows = chain(([*one, "", "", ""] for one in missing), found)
    return csv_lines((*_COLUMNS, *_REVIEWED), rows)


def json_of_repairs(
    counts: RepairCounts,
    repairs: Iterable[Repair],
    reviews: Iterable[Review],
    encode: Callable[[object], str] = dumps,
) -> Iterator[str]:
    """Yield pieces of a JSON object: counts, pages reviewed as bad or usable, repairs by line."""
    reviewed = [asdict(one) for one in reviews]
    yield f'{encode(asdict(counts))[:-1]}, "reviews": {encode(reviewed)}, "repairs": ['
    sign = ""
    for one in repairs:
        yield f"{sign}\n  {encode(asdict(one))}"
        sign = ","
    yield "\n]}\n" if sign else "]}\n"
