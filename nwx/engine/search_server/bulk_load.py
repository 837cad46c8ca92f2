"""Settings for bulk loading: no replicas, no refreshes, until the last import ends.

The previous settings are stored in an entry on the server, with the running imports (holders). If
an import is killed, a separate process (`guard_loading`) restores the settings, or else a later
process can.
"""

import json
import os
import platform
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from nwx.bulk.child_processes import ChildProcess
from nwx.engine.search_server.blobs import make_blob_index
from nwx.engine.search_server.pages import entries_by_id
from nwx.engine.search_server.refusals import IndexMissingError
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.engine.search_server.writes import IGNORE_MISSING, BulkAction, refresh, send
from nwx.errors import EngineBusyError, EngineError, NwxError
from nwx.model import IndexName
from nwx.settings import ServerSettings, Settings

LOADED = (IndexName.DOCUMENTS, IndexName.DATES, IndexName.CAPTURES)
"""The indices whose settings change."""

_DONE = "done"  # the import restored the settings itself
_ENTRY = "loading"
_ATTEMPTS = 50
_WHILE_LOADING: Body = {"number_of_replicas": "0", "refresh_interval": "-1"}
_GUARD_ATTEMPTS, _GUARD_PAUSE_SECONDS = 120, 5.0


class BulkLoading:
    """The bulk-loading settings of indices, and their entry in the index `<prefix>-loading`."""

    def __init__(self, server: Server, schema: Schema, settings: ServerSettings) -> None:
        self._server = server
        self._settings = settings
        self._names = [schema.name(index) for index in LOADED]
        self.index = f"{settings.prefix}-loading"

    def holders(self) -> tuple[str, ...]:
        """Return the names of the imports that load in bulk, including killed ones."""
        try:
            return tuple(sorted(self._state()[0].get("holders", ())))
        except IndexMissingError:
            return ()

    def begin(self, holder: str) -> None:
        """Save the current settings, and set those of bulk loading for an import."""
        make_blob_index(self._server, self.index, self._settings)

        def joined(state: Body) -> Body:
            before = state.get("before") or self._current()
            return {"holders": sorted({*state.get("holders", ()), holder}), "before": before}

        self._change(joined)
        for name in self._names:
            self._put(name, _WHILE_LOADING)

    def end(self, holder: str) -> None:
        """Restore the saved settings, unless another import is still loading.

        Does nothing if `begin` has not saved any.
        """

        def left(state: Body) -> Body:
            others = [one for one in state.get("holders", ()) if one != holder]
            if others or not state.get("before"):
                return {"holders": others, "before": state.get("before", {})}
            # Restored before the entry is changed: if interrupted, it is done again.
            for name, settings in state["before"].items():
                self._put(name, settings)
            return {"holders": [], "before": {}}

        try:
            self._change(left)
        except IndexMissingError:
            return
        refresh(self._server, ",".join(self._names))

    def _change(self, change: Callable[[Body], Body]) -> None:
        for _ in range(_ATTEMPTS):
            state, control = self._state()
            entry = {"data": json.dumps(change(state))}
            operation = "index" if control else "create"
            action = BulkAction(self.index, _ENTRY, entry, operation, tuple(control.items()))
            if "conflict" not in send(self._server, [action]):
                return
        raise EngineBusyError(
            f"other processes keep changing {self.index} at {self._server.address}"
        )

    def _state(self) -> tuple[Body, Body]:
        found = entries_by_id(self._server, self.index, [_ENTRY], "true").get(_ENTRY)
        if found is None:
            return {}, {}
        state: Body = json.loads(found["_source"]["data"])
        return state, {
            "if_seq_no": found["_seq_no"],
            "if_primary_term": found["_primary_term"],
        }

    def _current(self) -> dict[str, Body]:
        """Return the current values of the settings that bulk loading changes, by index."""
        return {name: self._settings_of(name) for name in self._names}

    def _settings_of(self, name: str) -> Body:
        answer = self._server.request("GET", f"/{quoted(name)}/_settings")
        (found,) = answer.values()
        index = found["settings"]["index"]
        return {key: index.get(key) for key in _WHILE_LOADING}

    def _put(self, name: str, settings: Body) -> None:
        path = f"/{quoted(name)}/_settings"
        self._server.request("PUT", path, {"index": settings}, IGNORE_MISSING)


@contextmanager
def loading(state: BulkLoading, settings: Settings) -> Iterator[None]:
    """Apply the settings of bulk loading within the context."""
    # A random part, as containers with the same name may have equal process ids.
    holder = f"{platform.node()} process {os.getpid()} ({secrets.token_hex(4)})"
    guard = _start_guard(settings, holder)
    try:
        state.begin(holder)
        yield
    finally:
        state.end(holder)
        _dismiss(guard)


def _start_guard(settings: Settings, holder: str) -> ChildProcess:
    """Start the process that ends the bulk load if this process is killed."""
    guard = ChildProcess(guard_loading)
    try:
        # Sent over the connection, as command lines are readable by all users.
        guard.connection.send((settings, holder))
    except OSError as error:
        guard.end()
        raise EngineError(
            "the process that restores settings after bulk loading ended at once;"
            " try again, or load without bulk"
        ) from error
    return guard


def _dismiss(guard: ChildProcess) -> None:
    with suppress(OSError):  # it was killed, but is no longer needed
        guard.connection.send(_DONE)
        guard.death()
    guard.end()


def guard_loading(connection: "Connection[None, Any]") -> None:
    """Restore the settings if the import at the other end ends without reporting that it did.

    An unreachable server is retried for ten minutes. If it stays unreachable, `nwx check` names the
    import.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # these must not stop this
    settings, holder = connection.recv()
    with suppress(EOFError, OSError):
        if connection.recv() == _DONE:
            return
    from nwx.engine.base import open_engine  # it imports this module

    for _ in range(_GUARD_ATTEMPTS):
        with suppress(NwxError), open_engine(settings) as engine:
            engine.shards().end_loading([holder])
            return
        time.sleep(_GUARD_PAUSE_SECONDS)
