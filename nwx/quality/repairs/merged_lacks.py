"""What pages lack by their links and by checks, taken together."""

from collections.abc import Callable

import numpy as np

from nwx.bulk.arrays import Array
from nwx.links.needed_urls import SourceNumbers
from nwx.quality.repairs.check_lacks import CheckLacks
from nwx.quality.repairs.lacks import lacks_of
from nwx.quality.repairs.link_lacks import LinkLacks

_HALF = np.uint64(32)
_LEFT_OUT = -1
_Find = Callable[[str], int | None]


class MergedLacks:
    """Pages and resources of links and of checks, numbered together.

    Those of links have the numbers that they have there, those that only
    checks know come behind: `of_check` has the number in the checks of each
    resource that these missed. `checked` counts their pages by resource. Pairs
    of a page and a resource whose URL nothing tells are `left_out`.
    """

    def __init__(self, linked: LinkLacks | None, checks: CheckLacks) -> None:
        """Number what checks found as links do, where these know it."""
        none = np.zeros(0, dtype=np.int64)
        pages = len(linked.beyond) if linked else 0
        resources = len(linked.needed) if linked else 0
        known = _Known(linked) if linked else None
        page_numbers, pages = _numbers(checks.pages, known.page if known else _unknown, pages)
        find = known.resource if known else _unknown
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


def _always(own: int) -> bool:
    del own
    return True


def _numbers(
    keys: dict[str, int], known: _Find, size: int, is_new: Callable[[int], bool] = _always
) -> tuple[Array, int]:
    """Return the numbers of urlkeys, of unknown ones from `size` on, and the size with these.

    Unknown ones that are not to be new have the number _LEFT_OUT.
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
