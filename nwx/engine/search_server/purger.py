"""Permanent removal of deleted entries from a server's files, by merging segments."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from nwx.engine.access.access_index import Purger
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.date_store import DatesStore
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Server, quoted
from nwx.engine.search_server.writes import flush, refresh
from nwx.model import Dates, IndexName

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 2.0
_ALLOWED = "merge.policy.expunge_deletes_allowed"
_LEFT = ("NODE_LEFT", "NODE_RESTARTING")
"""The reasons why a shard copy has lost its node."""

_MISSING = {"ignore_unavailable": "true"}


def erase_deleted(server: Server, names: Iterable[str], wait_seconds: float) -> tuple[str, ...]:
    """Merge the segments of indices that hold deleted entries, and flush their logs.

    Returns the indices that still hold deleted entries after `wait_seconds`.
    """
    every = ",".join(names)
    refresh(server, every, ignore_missing=True)
    left = _with_deleted(server, every)
    if left:
        _allow(server, left, 0)
        try:
            left = _merged(server, left, wait_seconds)
        finally:
            _allow(server, _with_settings(server, every), None)
    flush(server, every)
    return tuple(left)


def with_copies_away(server: Server, names: Iterable[str]) -> tuple[str, ...]:
    """Return the concrete names of indices with shard copies on an unreachable node.

    Such a copy receives the deletions when its node is back, but keeps deleted data until its
    segments are merged.
    """
    params = {"filter_path": "routing_table.indices", **_MISSING}
    path = f"/_cluster/state/routing_table/{quoted(','.join(names))}"
    found = server.request("GET", path, params=params).get("routing_table", {}).get("indices", {})
    return tuple(
        sorted(
            name
            for name, index in found.items()
            if any(_is_away(copy) for copies in index["shards"].values() for copy in copies)
        )
    )


def _is_away(copy: dict[str, Any]) -> bool:
    return copy.get("unassigned_info", {}).get("reason") in _LEFT


def _merged(server: Server, names: list[str], wait_seconds: float) -> list[str]:
    deadline, pause = time.monotonic() + wait_seconds, _FIRST_PAUSE_SECONDS
    while True:
        some = ",".join(names)
        flush(server, some)
        params = {"only_expunge_deletes": "true", **_MISSING}
        server.request("POST", f"/{quoted(some)}/_forcemerge", params=params)
        flush(server, some)
        refresh(server, some, ignore_missing=True)
        names = _with_deleted(server, some)
        if not names or time.monotonic() >= deadline:
            return names
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _with_deleted(server: Server, names: str) -> list[str]:
    """Return the concrete names of indices with deleted entries in any shard copy."""
    answer = server.request("GET", f"/{quoted(names)}/_stats/docs", params=_MISSING)
    found = answer.get("indices", {})
    return sorted(name for name, stats in found.items() if stats["total"]["docs"]["deleted"])


def _with_settings(server: Server, names: str) -> list[str]:
    """Return the indices with a non-default setting for merging deleted entries."""
    path = f"/{quoted(names)}/_settings/index.{_ALLOWED}"
    answer = server.request("GET", path, params=_MISSING)
    return sorted(name for name, found in answer.items() if found["settings"])


def _allow(server: Server, names: list[str], percent: int | None) -> None:
    """Make the server merge segments with more than `percent` deleted; None resets to default."""
    if names:
        body = {"index": {_ALLOWED: percent}}
        server.request("PUT", f"/{quoted(','.join(names))}/_settings", body, params=_MISSING)


class ServerPurger(Purger):
    """Purges the indices of an archive on a server."""

    def __init__(
        self,
        server: Server,
        schema: Schema,
        dates: ServerDatesIndices,
    ) -> None:
        self._server, self._schema, self._dates = server, schema, dates

    def own_dates(self) -> list[str]:
        return self._dates.made()

    def remove_dates(self, place: str, dates: Sequence[Dates]) -> int:
        return DatesStore(self._server, self._dates.index_of(place)).remove(dates)

    def erase(self, wait_seconds: float) -> tuple[str, ...]:
        return erase_deleted(self._server, self._names(), wait_seconds)

    def copies_away(self) -> tuple[str, ...]:
        return with_copies_away(self._server, self._names())

    def _names(self) -> list[str]:
        names = [self._schema.name(index) for index in IndexName]
        files = [f"{name}-files" for name in names]
        dates = [self._dates.index_of(name) for name in self._dates.made()]
        return [*names, *files, *dates]
