"""Dates joined with the document of their payload, if stored under another digest of it."""

import heapq
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path

from nwx.bulk.sorted_runs import ExternalSort
from nwx.engine.base import Engine
from nwx.keys import document_id, document_key
from nwx.model import MAIN_DATES, Dates, IndexName

_LOOKED_UP = 1_000
_AT_ONCE = 20_000
_SORTED_BYTES = 128 << 20
_JOINING = "joining"


def dates_of_documents(engine: Engine, dates: Sequence[Dates]) -> tuple[Sequence[Dates], list[str]]:
    """Give dates without a document to one with another digest of their payload, if there is one.

    Returns the dates, and the keys that have no document.
    """
    ids = {document_id(one.key): one.key for one in dates}
    known = engine.known(ids)
    orphans = [key for id, key in ids.items() if id not in known]
    documents = _documents_of(engine, orphans)
    if not documents:
        return dates, orphans
    seen = defaultdict[str, set[tuple[str, str]]](set)
    for one in dates:
        seen[documents.get(one.key, one.key)].update(one.seen)
    joined = [Dates(key, tuple(sorted(pairs))) for key, pairs in seen.items()]
    return joined, [key for key in orphans if key not in documents]


def _documents_of(engine: Engine, orphans: Sequence[str]) -> dict[str, str]:
    """Return for keys without a document those of one with another digest of the payload."""
    held = engine.digests.held({key.rpartition(" ")[2] for key in orphans})
    others = {}
    for orphan in orphans:
        url, _, digest = orphan.rpartition(" ")
        for key in (document_key(url, same) for same in held.get(digest, ())):
            others[document_id(key)] = (orphan, key)
    return dict(others[id] for id in engine.known(others)) if others else {}


def join_dates(engine: Engine, keys: Iterable[str]) -> None:
    """Move dates of keys without a document to one with another digest of their payload.

    What others add meanwhile stays.
    """
    left = iter(keys)
    while some := list(islice(left, _LOOKED_UP)):
        found = engine.dates([document_id(key) for key in some])
        known = engine.known(found) if found else {}
        orphans = {one.key: one for id, one in found.items() if id not in known}
        documents = _documents_of(engine, list(orphans))
        if documents:
            engine.append_dates([replace(orphans[old], key=new) for old, new in documents.items()])
            engine.purger().remove_dates(MAIN_DATES, [orphans[old] for old in documents])


def join_all_dates(engine: Engine) -> None:
    """Join the dates of all keys of an archive."""
    join_dates(engine, (entry["key"] for entry in engine.scan(IndexName.DATES)))


@contextmanager
def joining_dates(engine: Engine) -> Iterator[None]:
    """Note in a folder that an import joins dates; after a killed one all are joined."""
    index = engine.digests
    if not engine.traits.is_local or not (index.is_kept() or index.is_made()):
        yield
        return
    if index.state(_JOINING) == b"1":
        join_all_dates(engine)
    index.put_state(_JOINING, b"1")
    yield
    index.put_state(_JOINING, b"0")


Keyed = tuple[str, Dates]


def keyed_dates(dates: Iterable[Dates]) -> Iterator[Keyed]:
    """Yield dates with the ids of their keys."""
    return ((document_id(one.key), one) for one in dates)


def merged_streams(streams: Sequence[Iterator[Keyed]]) -> Iterator[Keyed]:
    """Return the dates of several streams, each in the order of ids, each key once."""
    for id, group in groupby(heapq.merge(*streams, key=_id), key=_id):
        several = [one for _, one in group]
        if len(several) == 1:
            yield id, several[0]
        else:
            pairs = {pair for one in several for pair in one.seen}
            yield id, Dates(several[0].key, tuple(sorted(pairs)))


def joined_dates(engine: Engine, dates: Iterator[Keyed], folder: Path) -> Iterator[Keyed]:
    """Return a stream in which dates have the key of the document with their payload.

    Where the archive has further digests, it is sorted again in `folder`.
    """
    if not engine.digests.is_made():
        return dates
    sort = ExternalSort(folder, _SORTED_BYTES, "joined")
    while stretch := [one for _, one in islice(dates, _AT_ONCE)]:
        joined, _ = dates_of_documents(engine, stretch)
        sort.add([json.dumps([id, one.key, one.seen]).encode() for id, one in keyed_dates(joined)])
    return merged_streams([map(_read, chain.from_iterable(sort.batches()))])


def _read(line: bytes) -> Keyed:
    id, key, seen = json.loads(line)
    return id, Dates(key, tuple((timestamp, collection) for timestamp, collection in seen))


def _id(keyed: Keyed) -> str:
    return keyed[0]
