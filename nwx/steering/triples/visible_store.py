"""The triple store of an archive, and the copy of it that a viewer may see."""

import hashlib
import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TypeVar

from pyoxigraph import NamedNode, Quad, Store

from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.errors import SettingsError, UrlError, WithheldError
from nwx.settings import Settings
from nwx.steering.triples.local_store import SHOWN, LocalTripleStore, folder_lock
from nwx.steering.triples.triple_store import (
    QueryAnswer,
    QueryLimits,
    SparqlQuery,
    TripleStore,
    TripleStoreError,
    TripleWriter,
)
from nwx.values.urlkeys import urlkey

_FOLDER = "triples"
_WEB = ("http://", "https://")


def triple_store(settings: Settings) -> TripleStore:
    """Return the configured triple store, else the one in the archive's folder.

    Raises SettingsError for an archive on Elasticsearch without a setting.
    """
    place = settings.triples
    if place.startswith(_WEB):
        # Imported here: most archives have their store in a folder.
        from nwx.steering.triples.remote_store import RemoteTripleStore

        return RemoteTripleStore(place, settings.triples_query or place)
    if not place and settings.engine.startswith(_WEB):
        raise SettingsError(
            "an archive on Elasticsearch has no folder for triples; set NWX_TRIPLES to a folder, or"
            " to the address of a SPARQL 1.1 server's updates"
        )
    return LocalTripleStore(Path(place) if place else Path(settings.engine) / _FOLDER)


_SHOWN_LOCK, _NEVER_CHANGED = f"{SHOWN}lock", ".sst"
_KEPT_COPIES = 4
_AT_ONCE = 200
_MOST_NEAR = 200
_GRAPH = re.compile(r"urn:nwx:(?:capture|names|analysis:[^:]*):(\d{14}):(.+)", re.DOTALL)
_Item = TypeVar("_Item")


def visible_triples(settings: Settings, engine: Engine) -> TripleStore:
    """Return the triple store of an archive, restricted to what a viewer with `engine` sees."""
    store = triple_store(settings)
    if not engine.hidden_key:
        return store
    if isinstance(store, LocalTripleStore):
        return VisibleTripleStore(store.folder, engine)
    return _WithheldTripleStore(store)


class VisibleTripleStore(LocalTripleStore):
    """The triples of a folder that are about visible captures, and name no hidden URL."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        super().__init__(folder)
        self._engine = engine

    def writer(self, wait_seconds: float = 0.0) -> TripleWriter:
        """Raise TripleStoreError: who sees a part of an archive does not write to it."""
        raise TripleStoreError.translated("triples are written by those who see the whole archive")

    def version(self) -> str:
        """Return what differs after each change that this viewer sees."""
        version = super().version()
        return self._name(version) if version else ""

    def current(self) -> Path:
        """Return the copy of the visible triples; it is made if missing."""
        source = super().current()
        copy = self.folder / self._name(source.name)
        if not copy.is_dir():
            lock = folder_lock(self.folder, math.inf, _SHOWN_LOCK)
            try:
                if not copy.is_dir():
                    self._make(source, copy)
            finally:
                os.close(lock)
        return copy

    def _name(self, version: str) -> str:
        key = hashlib.blake2b(self._engine.hidden_key.encode(), digest_size=12)
        return f"{SHOWN}{version}-{key.hexdigest()}"

    def _make(self, source: Path, copy: Path) -> None:
        unfinished = copy.with_name(f".{copy.name}")
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(source, unfinished, copy_function=_linked)
            store = Store(str(unfinished))
            _leave_out(store, self._engine)
            store.flush()
            del store
            unfinished.rename(copy)
        except OSError as error:
            raise TripleStoreError.translated(
                "%(folder)s cannot be used: %(reason)s", folder=self.folder, reason=error
            ) from error
        others = sorted(self.folder.glob(f"{SHOWN}read-*"), key=lambda path: path.stat().st_mtime)
        for old in others[:-_KEPT_COPIES]:
            shutil.rmtree(old, ignore_errors=True)


def _leave_out(store: Store, engine: Engine) -> None:
    """Remove the graphs of hidden captures, and triples with hidden URLs, from a store."""
    names = (name for name in store.named_graphs() if isinstance(name, NamedNode))
    for hidden in [name for some in _batches(names) for name in _hidden_graphs(some, engine)]:
        store.remove_graph(hidden)
    for quads in _batches(store.quads_for_pattern(None, None, None, None)):
        urls = {term.value for quad in quads for term in _pages(quad)}
        if out := engine.hidden_urls(urls):
            for quad in quads:
                if any(term.value in out for term in _pages(quad)):
                    store.remove(quad)


def _hidden_graphs(names: Sequence[NamedNode], engine: Engine) -> Iterator[NamedNode]:
    """Yield the graphs without a visible capture."""
    asked: dict[NamedNode, KeysAtTime] = {}
    for name in names:
        if found := _GRAPH.fullmatch(name.value):
            try:
                asked[name] = KeysAtTime((urlkey(found[2]),), found[1])
            except UrlError:
                yield name
    answers = engine.captures_near(list(asked.values()), _MOST_NEAR)
    for (name, question), near in zip(asked.items(), answers, strict=True):
        if all(one.timestamp != question.timestamp for one in near):
            yield name


def _pages(quad: Quad) -> Iterator[NamedNode]:
    for term in (quad.subject, quad.object):
        if isinstance(term, NamedNode) and term.value.startswith(_WEB):
            yield term


def _batches(found: Iterable[_Item]) -> Iterator[list[_Item]]:
    rest = iter(found)
    while some := list(islice(rest, _AT_ONCE)):
        yield some


def _linked(source: str, target: str) -> str:
    """Link a file that never changes, copy any other."""
    if source.endswith(_NEVER_CHANGED):
        os.link(source, target)
        return target
    return str(shutil.copy2(source, target))


class _WithheldTripleStore(TripleStore):
    """A store that shows nothing, as it cannot restrict its triples to a viewer."""

    def __init__(self, store: TripleStore) -> None:
        self._store = store

    def writer(self, wait_seconds: float = 0.0) -> TripleWriter:
        raise _withheld()

    def answer(
        self, query: SparqlQuery, limits: QueryLimits, *, is_ours: bool = False
    ) -> QueryAnswer:
        raise _withheld()

    def export(self, output: IO[bytes]) -> None:
        raise _withheld()

    def version(self) -> str:
        return self._store.version()


def _withheld() -> WithheldError:
    return WithheldError.translated(
        "the triples on a server hold what access rules hide; log in as a curator, "
        "use `nwx --unrestricted`, or keep triples in a folder (NWX_TRIPLES)"
    )
