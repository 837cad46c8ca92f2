"""Maintenance of an archive's indices on a server: health of shards, backups, and purges."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.engine.access.access_index import Purger
from nwx.engine.capabilities import BULK_LOADING, Backups, ShardHealth, Shards, Verify
from nwx.engine.search_server.bulk_load import BulkLoading, loading
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.date_store import DatesStore
from nwx.engine.search_server.refusals import RefusedError
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.engine.search_server.shard_changes import Resharding
from nwx.engine.search_server.writes import (
    IGNORE_MISSING,
    flush,
    refresh,
    shard_health,
)
from nwx.errors import EngineBusyError, EngineError, UsageError
from nwx.model import Dates, IndexName
from nwx.settings import ServerSettings, Settings

_WITH_FORM = (IndexName.DOCUMENTS, IndexName.CAPTURES)
"""The indices whose settings depend on the version of nwx."""

_FIRST_TAKEN = (IndexName.FILES, IndexName.CAPTURES, IndexName.DOCUMENTS)
"""Snapshots are taken in reverse order of an import's writes, so that no reference is broken."""

_SNAPSHOTS = len(_FIRST_TAKEN) + 1
_SUCCESS, _IN_PROGRESS = "SUCCESS", "IN_PROGRESS"
_NOT_FOUND = 404
_LOOK_SECONDS, _LONGEST_SECONDS = 0.1, 5.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 2.0
_DELETES_ALLOWED = "merge.policy.expunge_deletes_allowed"
_NODE_LEFT = ("NODE_LEFT", "NODE_RESTARTING")
"""The reasons why a shard copy has lost its node."""


class ServerShards(Shards):
    """Changes the shards of a server's indices, and reports their health."""

    def __init__(
        self,
        server: Server,
        schema: Schema,
        dates: ServerDatesIndices,
        settings: ServerSettings,
    ) -> None:
        self._server, self._schema, self._dates = server, schema, dates
        self._loading = BulkLoading(server, schema, settings)

    def health(self) -> Mapping[str, ShardHealth]:
        return {index: shard_health(self._server, name) for index, name in self.names().items()}

    def names(self) -> dict[str, str]:
        """Return the concrete names of all indices of the archive, by their names in `health`."""
        made = self._schema.made_names()
        names = {index.value: made[index] for index in IndexName if index in made}
        return names | self._schema.names_behind(self._further(has_dates=IndexName.DATES in made))

    def _further(self, *, has_dates: bool) -> dict[str, str]:
        """Return the aliases that an archive may have in addition to its indices."""
        files = {f"{index}-files": f"{self._schema.name(index)}-files" for index in IndexName}
        dates = self._dates.addresses() if has_dates else {}
        named = {f"{IndexName.DATES}@{name}": index for name, index in dates.items()}
        return files | {BULK_LOADING: self._loading.index} | named

    def older_forms(self) -> Mapping[IndexName, str]:
        names = {index: self._schema.name(index) for index in _WITH_FORM}
        return {
            index: name
            for index, name in names.items()
            if not Resharding(self._server, name, index).has_form()
        }

    def loaders(self) -> tuple[str, ...]:
        return self._loading.holders()

    def loading(self, settings: Settings) -> AbstractContextManager[None]:
        return loading(self._loading, settings)

    def end_loading(self, loaders: Iterable[str]) -> None:
        for name in loaders:
            self._loading.end(name)

    def reshard(self, index: IndexName, shards: int, progress: ShowProgress = no_progress) -> str:
        if loaders := self.loaders():
            raise EngineBusyError(
                f"bulk loading is running ({', '.join(loaders)}); reshard when it has ended, or, "
                f"if it was killed, end it with `nwx check --end-loading`"
            )
        name = self._schema.name(index)
        return Resharding(self._server, name, index).run(shards, progress)

    def undo_reshard(self, index: IndexName) -> None:
        Resharding(self._server, self._schema.name(index), index).undo()


class ServerSnapshots(Backups):
    """The backups of a prefix's indices; each consists of snapshots `<prefix>-<name>.<part>`."""

    def __init__(self, server: Server, shards: ServerShards, prefix: str, repository: str) -> None:
        self._server, self._shards, self._prefix = server, shards, prefix
        self._repository = repository
        self._path = f"/_snapshot/{quoted(repository)}"

    def names(self) -> list[str]:
        name = re.compile(rf"{re.escape(self._prefix)}-(\d{{8}}-\d{{6}}-\d{{3}})\.{_SNAPSHOTS - 1}")
        wanted = f"/{quoted(self._prefix)}-*.{_SNAPSHOTS - 1}?ignore_unavailable=true"
        found = self._request("GET", wanted)["snapshots"]
        whole = (name.fullmatch(one["snapshot"]) for one in found if one["state"] == _SUCCESS)
        return sorted(one[1] for one in whole if one)

    def make(self, name: str, verify: Verify, progress: ShowProgress) -> None:
        self.names()  # fails early if the repository does not exist
        indices = self._indices()
        if IndexName.FILES not in indices:
            raise EngineError(
                f"no archive at {self._server.address}, prefix {self._prefix}; run `nwx import`"
            )
        first = [[indices.pop(index)] for index in map(str, _FIRST_TAKEN)]
        try:
            for part, wanted in enumerate([*first, list(indices.values())]):
                progress(WorkProgress("taking snapshots", part, _SNAPSHOTS))
                self._take(self._snapshot(name, part), wanted)
            verify(self._server.address)
        except BaseException:
            with suppress(EngineError):
                self.remove(name)
            raise

    def _take(self, snapshot: str, indices: Iterable[str]) -> None:
        body = {"indices": ",".join(indices), "include_global_state": False}
        self._request("PUT", snapshot, body)
        seconds = _LOOK_SECONDS
        while (found := self._found(snapshot)["state"]) == _IN_PROGRESS:
            time.sleep(seconds)
            seconds = min(2 * seconds, _LONGEST_SECONDS)
        if found != _SUCCESS:
            raise EngineError(
                f"the snapshot {self._repository}{snapshot} is {found}, not {_SUCCESS}; `nwx stats`"
                " shows whether shards are lost"
            )

    def _found(self, snapshot: str) -> Body:
        found: Body = self._request("GET", snapshot)["snapshots"][0]
        return found

    def remove(self, name: str) -> None:
        for part in reversed(range(_SNAPSHOTS)):  # the last one marks the backup as complete
            try:
                self._request("DELETE", self._snapshot(name, part))
            except RefusedError as error:
                if error.status != _NOT_FOUND:
                    raise

    def restore(self, name: str, verify: Verify, progress: ShowProgress, *, replaced: bool) -> None:
        snapshots = [self._snapshot(name, part) for part in range(_SNAPSHOTS)]
        found = [self._found(snapshot) for snapshot in snapshots]
        if wrong := [one["snapshot"] for one in found if one["state"] != _SUCCESS]:
            raise EngineError(f"these snapshots are incomplete: {', '.join(wrong)}")
        present = list(self._indices().values())
        if present and not replaced:
            raise UsageError(
                f"there is an archive at {self._server.address}; with replace, it first deletes"
                f" {', '.join(present)}"
            )
        if present:
            self._server.request("DELETE", f"/{quoted(','.join(present))}")
        for snapshot in snapshots:
            body = {"indices": "*", "include_global_state": False}
            self._request("POST", f"{snapshot}/_restore", body)
        names = [name for one in found for name in one["indices"]]
        self._wait_for_shards(names, sum(one["shards"]["total"] for one in found), progress)
        verify(self._server.address)

    def _wait_for_shards(self, names: Iterable[str], total: int, progress: ShowProgress) -> None:
        """Wait until all primary shards of indices are active; the status is yellow long before."""
        path = f"/_cluster/health/{quoted(','.join(names))}"
        params = {"wait_for_active_shards": total, "timeout": f"{_LONGEST_SECONDS:.0f}s"}
        while True:
            with suppress(RefusedError):  # 408, not in time: the current state follows
                self._server.request("GET", path, params=params)
            found = self._server.request("GET", path)
            active = found["active_primary_shards"]
            if active >= total:
                return
            if not found["initializing_shards"]:
                raise EngineError(f"{total - active} shards were not restored; see `nwx stats`")
            progress(WorkProgress("restoring shards", active, total))

    def _indices(self) -> dict[str, str]:
        """Return the names of the indices that begin with the prefix, by name in the archive."""
        found = self._shards.names().items()
        return {name: index for name, index in found if index.startswith(f"{self._prefix}-")}

    def _snapshot(self, name: str, part: int) -> str:
        return f"/{quoted(f'{self._prefix}-{name}')}.{part}"

    def _request(self, method: str, path: str, body: Body | None = None) -> Body:
        try:
            return self._server.request(method, f"{self._path}{path}", body)
        except RefusedError as error:
            if "repository_missing_exception" not in error.types:
                raise
            address = self._server.address.removeprefix("opensearch+")
            raise UsageError(
                f"{self._server.address} has no snapshot repository {self._repository!r};"
                f" register it: curl -X PUT {address}{self._path} -H 'content-type:"
                ' application/json\' -d \'{"type": "fs", "settings": {"location": "/FOLDER"}}\''
                " (the server's path.repo must allow FOLDER)"
            ) from error


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
    params = {"filter_path": "routing_table.indices", **IGNORE_MISSING}
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
    return copy.get("unassigned_info", {}).get("reason") in _NODE_LEFT


def _merged(server: Server, names: list[str], wait_seconds: float) -> list[str]:
    deadline, pause = time.monotonic() + wait_seconds, _FIRST_PAUSE_SECONDS
    while True:
        some = ",".join(names)
        flush(server, some)
        params = {"only_expunge_deletes": "true", **IGNORE_MISSING}
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
    answer = server.request("GET", f"/{quoted(names)}/_stats/docs", params=IGNORE_MISSING)
    found = answer.get("indices", {})
    return sorted(name for name, stats in found.items() if stats["total"]["docs"]["deleted"])


def _with_settings(server: Server, names: str) -> list[str]:
    """Return the indices with a non-default setting for merging deleted entries."""
    path = f"/{quoted(names)}/_settings/index.{_DELETES_ALLOWED}"
    answer = server.request("GET", path, params=IGNORE_MISSING)
    return sorted(name for name, found in answer.items() if found["settings"])


def _allow(server: Server, names: list[str], percent: int | None) -> None:
    """Make the server merge segments with more than `percent` deleted; None resets to default."""
    if names:
        body = {"index": {_DELETES_ALLOWED: percent}}
        server.request("PUT", f"/{quoted(','.join(names))}/_settings", body, params=IGNORE_MISSING)


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
