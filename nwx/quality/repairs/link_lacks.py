"""What pages lack by their links: embedded resources without a capture that succeeded."""

from dataclasses import dataclass

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.base import Engine
from nwx.engine.inlinks.table import InlinkTable
from nwx.links.needed_urls import NeededUrls, needed_urls, needing_pages
from nwx.links.redirects import LOWEST_ERROR
from nwx.quality.repairs.repair_question import RepairQuestion

NEVER_CAPTURED = -1
"""Stands for the status of what has no capture at all."""

_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class RepairLimits:
    """How much is held in memory.

    Of the URLs that pages need, `looked_up` are looked up, those that most
    pages need first. Pairs of a resource and a page are held up to `pairs`.
    """

    looked_up: int = 2_000_000
    pairs: int = 10_000_000


@dataclass(frozen=True, slots=True)
class LinkLacks:
    """Missing resources and the pages that link to them, in pairs.

    `needed` are the resources, those that most pages need first, and
    `status` the lowest of their captures or NEVER_CAPTURED. `resource` and
    `page` are pairs of a place in these and the number of a linking URL.
    `beyond` has for each linking URL how many more it lacks, which are
    `left_out` resources in all. `unseen` needed URLs were not looked up.
    """

    needed: NeededUrls
    status: Array
    resource: Array
    page: Array
    beyond: Array
    left_out: int
    unseen: int


def link_lacks(
    engine: Engine, table: InlinkTable, question: RepairQuestion, limits: RepairLimits
) -> LinkLacks:
    """Return what the pages of a question lack by their links, and those of their style sheets."""
    documents = question.pages.of(engine, table)
    all_needed = needed_urls(table, question.kinds, documents, question.host)
    looked_up = all_needed.only(slice(0, limits.looked_up))
    places, status = _missing(engine, looked_up)
    missing = looked_up.only(places)
    held = int(np.searchsorted(np.cumsum(missing.pages), limits.pairs, side="right"))
    pairs: list[tuple[Array, Array]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    beyond = np.zeros(len(table.sources), dtype=np.int32)
    for resource, page in needing_pages(missing, question.kinds, documents):
        inside = resource < held
        pairs.append((resource[inside], page[inside]))
        beyond += np.bincount(page[~inside], minlength=len(beyond)).astype(np.int32)
    resource, page = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return LinkLacks(
        missing.only(slice(0, held)),
        status[:held],
        resource,
        page,
        beyond,
        left_out=len(missing) - held,
        unseen=len(all_needed) - len(looked_up),
    )


def _missing(engine: Engine, needed: NeededUrls) -> tuple[Array, Array]:
    """Return the places of those that are missing, and their statuses."""
    places: list[int] = []
    found: list[int] = []
    for begin in range(0, len(needed), _AT_ONCE):
        keys = needed.only(slice(begin, begin + _AT_ONCE)).keys()
        statuses = engine.statuses(keys)
        for place, key in enumerate(keys, start=begin):
            status = statuses.get(key, NEVER_CAPTURED)
            if status == NEVER_CAPTURED or status >= LOWEST_ERROR:
                places.append(place)
                found.append(status)
    return np.array(places, dtype=np.int64), np.array(found, dtype=np.int16)
