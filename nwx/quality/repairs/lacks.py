"""Which pages lack which resources, as numbers."""

from dataclasses import dataclass

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.counts import is_new

_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Lacks:
    """Pairs of a page and a resource that it lacks, by their numbers, each pair once.

    `page` and `resource` are equally long, in the order of both.
    `resources` is the number of resources. `beyond` has for each page how
    many more it lacks, which are in no pair: without these it stays broken.
    """

    resources: int
    page: Array
    resource: Array
    beyond: Array

    def pages_by_resource(self) -> Array:
        """Return how many pages lack each resource."""
        return np.bincount(self.resource, minlength=self.resources)

    def broken_pages(self) -> int:
        """Return how many pages lack something."""
        lacking = self.beyond > 0
        lacking[self.page] = True
        return int(np.count_nonzero(lacking))

    def in_order(self, order: Array) -> "Lacks":
        """Return the same with resources numbered by their places in `order`."""
        numbers = np.zeros(self.resources, dtype=np.int64)
        numbers[order] = np.arange(self.resources)
        return lacks_of(self.page, numbers[self.resource], self.resources, self.beyond)


def lacks_of(page: Array, resource: Array, resources: int, beyond: Array) -> Lacks:
    """Return pairs in their order; those that are there several times are there once."""
    # Sorted, and not by numpy.unique, which takes twenty times as long for millions.
    keys = page.astype(np.uint64) << _HALF | resource.astype(np.uint64)
    keys.sort()
    keys = keys[is_new(keys)]
    pages = (keys >> _HALF).astype(np.int32)
    return Lacks(resources, pages, keys.astype(np.uint32).astype(np.int32), beyond)
