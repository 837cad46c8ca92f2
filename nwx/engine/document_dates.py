"""Dates of documents as arrays, and joining of dates whose keys have the same payload."""

import heapq
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nwx.bulk.progress import batches
from nwx.bulk.sorted_runs import ExternalSort
from nwx.data_classes import dataclass
from nwx.engine.base import Engine
from nwx.keys import document_id, document_key
from nwx.model import MAIN_DATES, Dates, IndexName
from nwx.query.question import DateCondition, HiddenSpan, SeenDate
from nwx.values.timestamps import Period

_LOOKED_UP = 1_000
_AT_ONCE = 20_000
_SORTED_BYTES = 128 << 20
_JOINING = "joining"


def dates_of_documents(engine: Engine, dates: Sequence[Dates]) -> tuple[Sequence[Dates], list[str]]:
    """Move dates without a document to the one with another digest of their payload, if any.

    Returns the dates, and the keys left without a document.
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
    """Return, for keys without a document, the key of one with another digest of the payload."""
    held = engine.digests.held({key.rpartition(" ")[2] for key in orphans})
    others = {}
    for orphan in orphans:
        url, _, digest = orphan.rpartition(" ")
        for key in (document_key(url, same) for same in held.get(digest, ())):
            others[document_id(key)] = (orphan, key)
    return dict(others[id] for id in engine.known(others)) if others else {}


def join_dates(engine: Engine, keys: Iterable[str]) -> None:
    """Move dates of keys without a document to the one with another digest of their payload.

    Dates that others add meanwhile are kept.
    """
    for some in batches(keys, _LOOKED_UP):
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
    """Record in a folder that an import joins dates; after a killed import, join all of them."""
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
    """Yield pairs of the id of a key and its dates."""
    return ((document_id(one.key), one) for one in dates)


def merged_streams(streams: Sequence[Iterator[Keyed]]) -> Iterator[Keyed]:
    """Merge streams of dates, each in the order of ids; yield each key once."""
    for id, group in groupby(heapq.merge(*streams, key=_id), key=_id):
        several = [one for _, one in group]
        if len(several) == 1:
            yield id, several[0]
        else:
            pairs = {pair for one in several for pair in one.seen}
            yield id, Dates(several[0].key, tuple(sorted(pairs)))


def joined_dates(engine: Engine, dates: Iterator[Keyed], folder: Path) -> Iterator[Keyed]:
    """Return a stream of dates under the key of the document with their payload.

    If the archive has additional digests, it is sorted again, with temporary files in `folder`.
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


DateNumbers = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]
LAST_TIME = 99_999_999_999_999
_DIGITS = 14


@dataclass(frozen=True, slots=True)
class DateRows:
    """One row per date: the number of its document, its timestamp, its collection's code.

    `codes` are the codes of collections, which several tables may share.
    """

    places: DateNumbers
    times: DateNumbers
    collections: DateNumbers
    codes: Mapping[str, int]

    def that_meet(self, one: DateCondition) -> Chosen:
        """Return for each row whether it meets a condition."""
        fits = np.ones(len(self.times), dtype=bool)
        if one.spans is not None:
            fits[:] = False
            for low, high in one.spans:
                fits |= (self.times >= int(low or 0)) & (self.times <= int(high or LAST_TIME))
        if one.collections:
            wanted = [self.codes[name] for name in one.collections if name in self.codes]
            fits &= np.isin(self.collections, wanted)
        return fits

    def meeting(self, one: DateCondition) -> DateNumbers:
        """Return the numbers of the documents with a date that meets a condition."""
        return np.unique(self.places[self.that_meet(one)])

    def within(self, spans: Collection[HiddenSpan]) -> Chosen:
        """Return for each row whether it is within any of the spans."""
        fits = np.zeros(len(self.times), dtype=bool)
        for span in spans:
            inside = (self.times >= int(span.first)) & (self.times <= int(span.last))
            if span.collection:
                inside &= self.collections == self.codes.get(span.collection, -1)
            fits |= inside
        return fits

    def periods(self, period: Period) -> DateNumbers:
        """Return the period of each row, as a number: 2013, or 201301."""
        found: DateNumbers = self.times // 10 ** (_DIGITS - period.digits)
        return found


def date_rows(dates: Sequence[Sequence[SeenDate]], codes: dict[str, int]) -> DateRows:
    """Return the rows for the dates of each document, in order; adds new names to `codes`."""
    pairs = [pair for some in dates for pair in some]
    return DateRows(
        np.repeat(np.arange(len(dates)), np.fromiter(map(len, dates), np.int64, len(dates))),
        np.fromiter((int(time) for time, _ in pairs), np.int64, len(pairs)),
        np.fromiter(
            (codes.setdefault(name, len(codes)) for _, name in pairs), np.int64, len(pairs)
        ),
        codes,
    )
