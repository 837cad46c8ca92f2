"""Files that are packed once for all who ask, and how far the packing is."""

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.bulk.whole_files import whole_file
from nwx.errors import EngineBusyError, ErrorText, NwxError

_KEPT_SECONDS = 6 * 3_600
SAME_SECONDS = 600
"""A file of an earlier state of the archive is given for so long: downloads go on meanwhile."""

_TOLD_SECONDS = 0.5

Pack = Callable[[Path, ShowProgress], object]
"""Writes a file, and tells how far it is."""

_UNEXPECTED = ErrorText("the file cannot be made; the log of the service says why")


class PackingRoom(Protocol):
    """Something that is under way until it is ended."""

    def end(self) -> None:
        """End it."""


@dataclass(frozen=True, slots=True)
class PackingState:
    """How far a file is: `failure` says why there will be none, `is_ready` that it is there."""

    step: str = ""
    done: int = 0
    total: int = 0
    failure: ErrorText | None = None
    is_ready: bool = False
    bytes: int = 0


class PackedFile:
    """A file that is there, being packed by one of the workers, or not yet asked for.

    `key` tells what is in it and for whom, `mark` of which state of the
    archive. All workers see the same files.
    """

    def __init__(self, folder: Path, key: str, mark: str, suffix: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._key, self._suffix = folder, key, suffix
        self._path = folder / f"{key}-{mark}.{suffix}"
        self._state = folder / f"{key}.{suffix}.state"
        self._lock = folder / f"{key}.{suffix}.lock"

    def there(self) -> Path | None:
        """Return where the file is, None where it is to be packed."""
        if self._path.exists():
            return self._path
        oldest = time.time() - SAME_SECONDS
        found = self._folder.glob(f"{self._key}-*.{self._suffix}")
        recent = [(_changed(path), path) for path in found if _changed(path) > oldest]
        return max(recent)[1] if recent else None

    def state(self) -> PackingState:
        """Return how far the file is."""
        found = self.there()
        if found:
            return PackingState(is_ready=True, bytes=found.stat().st_size)
        try:
            return _read_state(self._state.read_bytes())
        except FileNotFoundError:
            return PackingState()

    def made(self, pack: Pack) -> Path:
        """Return where the file is, packed now if need be.

        Raises EngineBusyError while it is being packed for somebody else.
        """
        with ExitStack() as stack:
            found = self.there()
            if not found:
                self._hold(stack)
                found = self.there() or self._packed(pack)
            return found

    def start(self, pack: Pack, room: Callable[[], PackingRoom]) -> None:
        """Pack the file in a thread, unless that is under way; `room` gives the room for it.

        Where `room` raises an error nothing is begun.
        """
        with ExitStack() as stack:
            try:
                self._hold(stack)
            except EngineBusyError:
                return
            stack.callback(room().end)
            self._tell(PackingState())
            whole = stack.pop_all()
        threading.Thread(target=self._run, args=(pack, whole), name="packing", daemon=True).start()

    def _run(self, pack: Pack, stack: ExitStack) -> None:
        with stack:
            failure: ErrorText | None = _UNEXPECTED
            try:
                if not self.there():
                    self._packed(pack)
                failure = None
            except NwxError as error:
                failure = error.text
            finally:
                self._tell(PackingState(failure=failure))

    def _packed(self, pack: Pack) -> Path:
        _remove_old(self._folder)
        pack(self._path, self._show())
        return self._path

    def _show(self) -> ShowProgress:
        told = 0.0

        def show(progress: WorkProgress) -> None:
            nonlocal told
            if time.monotonic() > told + _TOLD_SECONDS:
                self._tell(PackingState(progress.step, progress.done, progress.total))
                told = time.monotonic()

        return show

    def _tell(self, state: PackingState) -> None:
        with whole_file(self._state) as stream:
            stream.write(_written_state(state))

    def _hold(self, stack: ExitStack) -> None:
        """Let nobody else pack the file until a stack ends."""
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        stack.callback(os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EngineBusyError(
                ErrorText("this export is being made already; try again soon")
            ) from error


def _written_state(state: PackingState) -> bytes:
    failure = state.failure.to_json() if state.failure else None
    return json.dumps(asdict(replace(state, failure=None)) | {"failure": failure}).encode()


def _read_state(written: bytes) -> PackingState:
    state = json.loads(written)
    failure = ErrorText.from_json(state["failure"]) if state["failure"] else None
    return PackingState(**(state | {"failure": failure}))


def _changed(path: Path) -> float:
    """Return when a file was written last, 0 for one that is gone."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _remove_old(folder: Path) -> None:
    oldest = time.time() - _KEPT_SECONDS
    for path in folder.iterdir():
        if path.is_file() and _changed(path) < oldest:
            path.unlink(missing_ok=True)
