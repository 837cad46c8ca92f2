"""An Oxigraph triple store in a folder, with copies for readers during writes.

RocksDB lets one process open a store for writing, and a process reading the same files
meanwhile may read inconsistent data. So readers use checkpoints: folders of hard links, made in
milliseconds after some writes.
"""

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pyoxigraph import NamedNode, Quad, RdfFormat, Store

from nwx.steering.triples.capture_graphs import GRAPH_FORM, CaptureGraph
from nwx.steering.triples.query_process import StoreGoneError, run_query
from nwx.steering.triples.terms import NWX_FORM
from nwx.steering.triples.triple_store import (
    QueryAnswer,
    QueryLimits,
    SparqlQuery,
    TripleStore,
    TripleStoreError,
    TripleWriter,
    harmless_query,
)

_STORE, _LOCK, _READ = "store", "lock", "read-"
_FRESH, _FORMER = "store.new", "store.old"
SHOWN = "shown-"
"""The prefix of copies for viewers who do not see everything."""

_PUBLISH_SECONDS = 30.0
_KEPT_COPIES = 2
_LOOK_SECONDS = 0.1
_ATTEMPTS = 3


class LocalTripleStore(TripleStore):
    """A store in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def writer(self, wait_seconds: float = 0.0) -> TripleWriter:
        with _our_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = folder_lock(self.folder, wait_seconds)
            try:
                return _LocalWriter(self.folder, lock)
            except BaseException:
                os.close(lock)
                raise

    def answer(
        self, query: SparqlQuery, limits: QueryLimits, *, is_ours: bool = False
    ) -> QueryAnswer:
        """Answer a query in a separate process; raises TripleQueryError."""
        text = harmless_query(query.text)
        asked = SparqlQuery(text, query.default_graphs, query.named_graphs)
        for _ in range(_ATTEMPTS):
            try:
                return run_query(self.current(), asked, limits)
            except StoreGoneError:
                continue  # a newer copy replaced it
        return run_query(self.current(), asked, limits)

    def export(self, output: IO[bytes]) -> None:
        with _our_errors(self.folder):
            store = Store.read_only(str(self.current()))
        try:
            store.dump(output, format=RdfFormat.N_QUADS)
        except OSError as error:
            if error.errno is not None:  # of the output; errors of the store have no number
                raise
            with _our_errors(self.folder):
                raise

    def version(self) -> str:
        """Return the name of the readers' copy, "" if none exists."""
        copies = _copies(self.folder)
        return copies[-1].name if copies else ""

    def current(self) -> Path:
        """Return the path of the readers' copy.

        Raises TripleStoreError if none exists.
        """
        copies = _copies(self.folder)
        if not copies:
            raise TripleStoreError.translated(
                "%(folder)s has no triples yet; `nwx triples build` builds them", folder=self.folder
            )
        return copies[-1]


class _LocalWriter(TripleWriter):
    def __init__(self, folder: Path, lock: int) -> None:
        self._folder, self._lock = folder, lock
        with _our_errors(folder):
            _finish_exchange(folder)
            self._store: Store | None = Store(str(folder / _STORE))
        self._changed = not _copies(folder)
        self._guard = threading.RLock()
        self._timer: threading.Timer | None = None

    def held(self, names: Sequence[NamedNode]) -> set[NamedNode]:
        store = self._opened()
        with _our_errors(self._folder):
            return {name for name in names if Quad(name, NWX_FORM, GRAPH_FORM, name) in store}

    def put(self, graphs: Sequence[CaptureGraph]) -> int:
        store, count = self._opened(), 0
        with self._guard, _our_errors(self._folder):
            for name, triples in graphs:
                wanted = {Quad(one.subject, one.predicate, one.object, name) for one in triples}
                held = set(store.quads_for_pattern(None, None, None, name))
                if new := wanted - held:
                    store.extend(new)  # all or none
                for quad in held - wanted:
                    store.remove(quad)
                count += len(new)
                if wanted != held:
                    self._publish_soon()
        return count

    def erase(self, names: Sequence[NamedNode]) -> int:
        """Remove graphs; return how many existed.

        The store keeps texts that no triple uses any more, so the remaining triples are written to
        a new store, which replaces it.
        """
        gone = set(names)
        with self._guard, _our_errors(self._folder):
            store = self._opened()
            held = {name for name in gone if store.contains_named_graph(name)}
            if held:
                fresh = self._folder / _FRESH
                shutil.rmtree(fresh, ignore_errors=True)
                _copy(store, fresh, held)
                self._store = None
                del store  # closes it
                _exchange(self._folder)
                self._store = Store(str(self._folder / _STORE))
            self._publish()
            shown = [*self._folder.glob(f"{SHOWN}read-*"), *self._folder.glob(f".{SHOWN}read-*")]
            for old in (*_copies(self._folder)[:-1], *shown):
                shutil.rmtree(old, ignore_errors=True)
        return len(held)

    def close(self) -> None:
        with self._guard:
            if self._timer is not None:
                self._timer.cancel()
            if self._store is None:
                return
            try:
                if self._changed:
                    self._publish()
            finally:
                self._store = None
                os.close(self._lock)

    def _opened(self) -> Store:
        if self._store is None:
            raise TripleStoreError.translated("%(folder)s is closed", folder=self._folder)
        return self._store

    def _publish_soon(self) -> None:
        """Schedule a copy for readers, made even if nothing more is written."""
        self._changed = True
        if self._timer is None:
            self._timer = threading.Timer(_PUBLISH_SECONDS, self._publish_late)
            self._timer.daemon = True
            self._timer.start()

    def _publish_late(self) -> None:
        with self._guard:
            self._timer = None
            if self._changed and self._store is not None:
                try:
                    self._publish()
                except TripleStoreError:
                    self._publish_soon()  # `close` raises the error

    def _publish(self) -> None:
        """Make a copy that readers use from now on."""
        with _our_errors(self._folder):
            copies = _copies(self._folder)
            number = int(copies[-1].name.removeprefix(_READ)) + 1 if copies else 1
            unfinished = self._folder / f".{_READ}{number}"
            shutil.rmtree(unfinished, ignore_errors=True)
            self._opened().backup(str(unfinished))
            unfinished.rename(self._folder / f"{_READ}{number:08}")
            for old in copies[: -_KEPT_COPIES + 1 or None]:
                shutil.rmtree(old, ignore_errors=True)
        self._changed = False


def _copy(store: Store, folder: Path, without: set[NamedNode]) -> None:
    """Write a copy of a store without some graphs."""
    made = Store(str(folder))
    made.bulk_extend(quad for quad in store if quad.graph_name not in without)
    made.flush()


def _exchange(folder: Path) -> None:
    """Replace the store by the fresh one."""
    (folder / _STORE).rename(folder / _FORMER)
    (folder / _FRESH).rename(folder / _STORE)
    shutil.rmtree(folder / _FORMER)


def _finish_exchange(folder: Path) -> None:
    """Complete an interrupted exchange."""
    if (folder / _FORMER).exists() and not (folder / _STORE).exists():
        (folder / _FORMER).rename(folder / _STORE)
    for left in (_FORMER, _FRESH):
        shutil.rmtree(folder / left, ignore_errors=True)


def _copies(folder: Path) -> list[Path]:
    """Return the copies for readers, the newest last."""
    return sorted(path for path in folder.glob(f"{_READ}*") if path.is_dir())


def folder_lock(folder: Path, wait_seconds: float, name: str = _LOCK) -> int:
    """Lock a file in a folder; return its handle. Raises TripleStoreError if others keep it."""
    handle = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    until = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < until:
                time.sleep(_LOOK_SECONDS)
                continue
            os.close(handle)
            raise TripleStoreError.translated(
                "another process is writing to %(folder)s", folder=folder
            ) from None
        return handle


@contextmanager
def _our_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TripleStoreError.translated(
            "%(folder)s cannot be used: %(reason)s", folder=folder, reason=error
        ) from error
