"""What pages lack by their links and by checks, taken together."""

from collections.abc import Callable

import numpy as np

from nwx.bulk.arrays import Array
from nwx.links.needs.style_sheets import SourceNumbers
from nwx.quality.repairs.check_lacks import CheckLacks
from nwx.quality.repairs.lacks import lacks_of
from nwx.quality.repairs.link_lacks import LinkLacks

_HALF = np.uint64(32)
_Find = Callable[[str], int | None]


class MergedLacks:
    """Pages and resources of links and of checks, numbered together.

    Those of links have the numbers that they have there, those that only
    checks know come behind: `of_check` has the number in the checks of each
    resource that these missed. `checked` counts their pages by resource.
    """

    def __init__(self, linked: LinkLacks | None, checks: CheckLacks) -> None:
        """Number what checks found as links do, where these know it."""
        none = np.zeros(0, dtype=np.int64)
        pages = len(linked.beyond) if linked else 0
        resources = len(linked.needed) if linked else 0
        known = _Known(linked) if linked else None
        page_numbers, pages = _numbers(checks.pages, known.page if known else _unknown, pages)
        own_numbers, resources = _numbers(
            checks.numbers, known.resource if known else _unknown, resources
        )
        self.of_check = {number: own for own, number in enumerate(own_numbers.tolist())}
        beyond = np.zeros(pages, dtype=np.int32)
        if linked:
            beyond[: len(linked.beyond)] = linked.beyond
        for page, more in checks.beyond.items():
            beyond[page_numbers[page]] += more
        own_page = page_numbers[np.frombuffer(checks.page, np.intc)] if checks.page else none
        resource = own_numbers[np.frombuffer(checks.resource, np.intc)] if checks.page else none
        own = lacks_of(own_page, resource, resources, beyond)
        self.checked = own.pages_by_resource()
        self.lacks = own
        if linked:
            self.lacks = lacks_of(
                np.concatenate([linked.page, own_page]),
                np.concatenate([linked.resource, resource]),
                resources,
                beyond,
            )


class _Known:
    """The numbers that pages and resources have in the links."""

    def __init__(self, linked: LinkLacks) -> None:
        self._table = linked.needed.table
        self.page: _Find = SourceNumbers(self._table).find
        codes = linked.needed.part.astype(np.uint64) << _HALF | linked.needed.place.astype(
            np.uint64
        )
        self._numbers = np.argsort(codes)
        self._codes = codes[self._numbers]

    def resource(self, key: str) -> int | None:
        """Return the number of a resource, None where no link makes it missing."""
        for part in self._table.ranges(key, key):
            place = self._table.range(part).keys.find(key)
            if place is not None:
                code = np.uint64(part << 32 | place)
                at = int(np.searchsorted(self._codes, code))
                if at < len(self._codes) and self._codes[at] == code:
                    return int(self._numbers[at])
        return None


def _unknown(key: str) -> int | None:
    del key
    return None


def _numbers(keys: dict[str, int], known: "_Find", size: int) -> tuple[Array, int]:
    """Return the numbers of urlkeys, of unknown ones from `size` on, and the size with these."""
    numbers = np.zeros(len(keys), dtype=np.int64)
    for key, own in sorted(keys.items()):
        number = known(key)
        if number is None:
            number, size = size, size + 1
        numbers[own] = number
    return numbers, size
