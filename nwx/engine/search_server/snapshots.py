"""Backups in a snapshot repository of a server."""

import re
import time
from collections.abc import Iterable
from contextlib import suppress

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.engine.capabilities import Backups, Verify
from nwx.engine.search_server.refusals import RefusedError
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.engine.search_server.shards import ServerShards
from nwx.errors import EngineError, UsageError
from nwx.model import IndexName

_FIRST = (IndexName.FILES, IndexName.CAPTURES, IndexName.DOCUMENTS)
"""Snapshots are taken in reverse order of an import's writes, so that no reference is broken."""

_PARTS = len(_FIRST) + 1
_SUCCESS, _IN_PROGRESS = "SUCCESS", "IN_PROGRESS"
_MISSING = 404
_LOOK_SECONDS, _LONGEST_SECONDS = 0.1, 5.0


class ServerSnapshots(Backups):
    """The backups of a prefix's indices; each consists of snapshots `<prefix>-<name>.<part>`."""

    def __init__(self, server: Server, shards: ServerShards, prefix: str, repository: str) -> None:
        self._server, self._shards, self._prefix = server, shards, prefix
        self._repository = repository
        self._path = f"/_snapshot/{quoted(repository)}"

    def names(self) -> list[str]:
        name = re.compile(rf"{re.escape(self._prefix)}-(\d{{8}}-\d{{6}}-\d{{3}})\.{_PARTS - 1}")
        wanted = f"/{quoted(self._prefix)}-*.{_PARTS - 1}?ignore_unavailable=true"
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
        first = [[indices.pop(index)] for index in map(str, _FIRST)]
        try:
            for part, wanted in enumerate([*first, list(indices.values())]):
                progress(WorkProgress("taking snapshots", part, _PARTS))
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
        for part in reversed(range(_PARTS)):  # the last one marks the backup as complete
            try:
                self._request("DELETE", self._snapshot(name, part))
            except RefusedError as error:
                if error.status != _MISSING:
                    raise

    def restore(self, name: str, verify: Verify, progress: ShowProgress, *, replaced: bool) -> None:
        snapshots = [self._snapshot(name, part) for part in range(_PARTS)]
        found = [self._found(snapshot) for snapshot in snapshots]
        if wrong := [one["snapshot"] for one in found if one["state"] != _SUCCESS]:
            raise EngineError(f"these snapshots are incomplete: {', '.join(wrong)}")
        present = list(self._indices().values())
        if present and not replaced:
            raise UsageError(
                f"there is an archive at {self._server.address}; --replace first deletes"
                f" {', '.join(present)}"
            )
        if present:
            self._server.request("DELETE", f"/{quoted(','.join(present))}")
        for snapshot in snapshots:
            body = {"indices": "*", "include_global_state": False}
            self._request("POST", f"{snapshot}/_restore", body)
        self._wait_for_shards(sum(one["shards"]["total"] for one in found), progress)
        verify(self._server.address)

    def _wait_for_shards(self, total: int, progress: ShowProgress) -> None:
        """Wait until `total` primary shards are active; the status is yellow long before."""
        path = f"/_cluster/health/{quoted(self._prefix)}-*"
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
