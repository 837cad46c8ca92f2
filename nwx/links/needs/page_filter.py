"""Which linking pages count: those of a site, a collection, or a span of dates."""

from dataclasses import dataclass

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.base import Engine
from nwx.engine.inlinks.inlink_index import ID_BYTES
from nwx.engine.inlinks.table import InlinkTable

_LAST = "9" * 14
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Pages of a host and those below it, captured for a collection, in a span of timestamps.

    `since` and `until` are timestamps of 14 digits, both included. "" is any.
    """

    site: str = ""
    collection: str = ""
    since: str = ""
    until: str = ""

    def of(self, engine: Engine, table: InlinkTable) -> Array:
        """Return which documents of a build pass, as `bool[documents]`."""
        arrays = table.documents
        found = self._captured(engine, table)
        if self.site:
            hosts = np.array([is_of_site(host, self.site) for host in table.hosts.all()], bool)
            found &= hosts[arrays["host"]] if len(hosts) else False
        return found

    def _captured(self, engine: Engine, table: InlinkTable) -> Array:
        """Return which documents have a capture in the collection and the span."""
        arrays = table.documents
        size = len(arrays["cell_starts"]) - 1
        owners = np.repeat(np.arange(size), np.diff(arrays["cell_starts"]))
        wanted = np.array(
            [one.collection == self.collection and one.year is not None for one in table.cells],
            dtype=bool,
        )
        of_cell = wanted[arrays["cell_code"]]
        since, until = int(self.since or 0), int(self.until or _LAST)
        first, last = arrays["cell_first"], arrays["cell_last"]
        ends = of_cell & (
            ((first >= since) & (first <= until)) | ((last >= since) & (last <= until))
        )
        found = np.zeros(size, dtype=bool)
        found[owners[ends]] = True
        # The dates of a year that begins before the span and ends after it are looked up.
        around = of_cell & (first < since) & (last > until)
        unsure = np.unique(owners[around])
        self._look_up(engine, table, unsure[~found[unsure]], found)
        return found

    def _look_up(self, engine: Engine, table: InlinkTable, numbers: Array, found: Array) -> None:
        ids = table.documents["id"]
        for begin in range(0, len(numbers), _AT_ONCE):
            by_id = {
                ids[number * ID_BYTES : (number + 1) * ID_BYTES].tobytes().hex(): number
                for number in numbers[begin : begin + _AT_ONCE].tolist()
            }
            for id, dates in engine.dates(list(by_id)).items():
                found[by_id[id]] = any(
                    self.since <= timestamp <= (self.until or _LAST)
                    and self.collection in ("", collection)
                    for timestamp, collection in dates.seen
                )


def is_of_site(host: str, site: str) -> bool:
    """Tell whether a host is a site, or below it; `www.` makes no difference."""
    site = site.lower().removeprefix("www.")
    return host == site or host.endswith(f".{site}")
