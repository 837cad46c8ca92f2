"""Dates added to an archive from lists, and dates indices built anew."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.resources import temporary_folder
from nwx.cdx.inputs import CdxSource, problems_json
from nwx.dedup.date_lists import ListsRead, Stretch, read_dates
from nwx.engine.access.purger import unpurged_dates
from nwx.engine.base import Engine
from nwx.engine.entries import dates_from_entry
from nwx.keys import check_collection, document_id
from nwx.model import DEFAULT_COLLECTION, MAIN_DATES, Dates, IndexName

_AT_ONCE = 20_000
_ID_DIGITS = 4
_WHOLE = 16**_ID_DIGITS

Keyed = tuple[str, Dates]


@dataclass(frozen=True, slots=True)
class DatesLists:
    """Lists of dates, and their collection.

    `folder` is for temporary files, None for the system's; if `strict`, the first unreadable line
    stops the work before anything is added. Raises UsageError on an invalid collection name.
    """

    sources: Sequence[CdxSource]
    collection: str = DEFAULT_COLLECTION
    folder: Path | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        check_collection(self.collection)


@dataclass(slots=True)
class DatesReport:
    """The counts of added lists; `orphans` counts the keys without a document.

    `new` are the dates added, `known` the lines with dates already stored or listed before.
    `left_out` are keys excluded from a new index, `purged` dates that access rules keep out.
    """

    lists: ListsRead = field(default_factory=ListsRead)
    keys: int = 0
    new: int = 0
    known: int = 0
    orphans: int = 0
    left_out: int = 0
    purged: int = 0


def add_dates(
    engine: Engine,
    lists: DatesLists,
    into: str = MAIN_DATES,
    progress: ShowProgress = no_progress,
) -> DatesReport:
    """Add the dates of lists to a dates index of an archive.

    Repeating it changes nothing. An interrupted call adds a part; repeating it adds the rest.
    """
    report = DatesReport()
    with temporary_folder(lists.folder) as folder:
        for ids, dates in _read(lists, folder, report, progress):
            kept = _unpurged(engine, dates, report)
            report.new += engine.append_dates(kept, into)
            # What is hidden of the dates is found out before more is added.
            engine.access_index().renew()
            report.keys += len(ids)
            report.orphans += len(ids) - len(engine.known(ids))
    engine.refresh()
    engine.access_index().renew()
    report.known = report.lists.lines - report.new - report.purged
    return report


def build_dates(
    engine: Engine,
    sources: Sequence[str],
    dest: str,
    lists: DatesLists,
    *,
    documents_only: bool = False,
    progress: ShowProgress = no_progress,
) -> DatesReport:
    """Build a dates index from other indices and lists, and swap it in as a whole.

    `sources` are names or addresses of dates indices. The archive's documents are the keys; with
    `documents_only` keys without a document are left out, else they are kept and counted.
    """
    report = DatesReport()
    with temporary_folder(lists.folder) as folder, engine.build_dates(dest) as builder:
        read = _read(lists, folder, report, progress)
        listed = (keyed for stretch in read for keyed in zip(*stretch, strict=True))
        streams = [_keyed(engine.scan_dates(source)) for source in sources]
        every = _merged([*streams, listed])
        while stretch := list(islice(every, _AT_ONCE)):
            known = engine.known([id for id, _ in stretch])
            share = _share(stretch[-1][0])
            report.orphans += len(stretch) - len(known)
            if documents_only:
                report.left_out += len(stretch) - len(known)
                stretch = [(id, one) for id, one in stretch if id in known]
            report.keys += len(stretch)
            report.new += builder.append(_unpurged(engine, [one for _, one in stretch], report))
            progress(WorkProgress("building", share, _WHOLE))
    engine.refresh()
    engine.access_index().renew()
    return report


def _unpurged(engine: Engine, dates: Sequence[Dates], report: DatesReport) -> list[Dates]:
    """Return dates without the ones that access rules keep out, and count these."""
    kept = list(unpurged_dates(engine.access_index().rules(), dates))
    report.purged += _pairs(dates) - _pairs(kept)
    return kept


def _pairs(dates: Sequence[Dates]) -> int:
    return sum(len(one.seen) for one in dates)


def _share(id: str) -> int:
    """Return the position of an id among all ids; ids are hashes, so evenly spread."""
    return int(id[:_ID_DIGITS], 16)


def orphans(engine: Engine, progress: ShowProgress = no_progress) -> Iterator[Dates]:
    """Yield the dates, in all indices, of keys that have no document."""
    entries = engine.scan(IndexName.DATES)
    while stretch := list(islice(entries, _AT_ONCE)):
        known = engine.known([entry["id"] for entry in stretch])
        yield from (dates_from_entry(entry) for entry in stretch if entry["id"] not in known)
        progress(WorkProgress("looking up keys", _share(stretch[-1]["id"]), _WHOLE))


def dates_report_json(report: DatesReport) -> dict[str, Any]:
    """Return a report as programs read it."""
    return {
        "lines": report.lists.lines,
        "keys": report.keys,
        "dates_new": report.new,
        "dates_known": report.known,
        "keys_without_document": report.orphans,
        "keys_left_out": report.left_out,
        "dates_purged": report.purged,
        "not_captures": report.lists.not_captures,
        "without_digest": report.lists.without_digest,
        "problems_total": report.lists.problems_total,
        "problems": problems_json(report.lists.problems),
    }


def _read(
    lists: DatesLists, folder: Path, report: DatesReport, progress: ShowProgress
) -> Iterator[Stretch]:
    return read_dates(
        lists.sources,
        lists.collection,
        folder,
        report.lists,
        strict=lists.strict,
        progress=progress,
    )


def _keyed(dates: Iterator[Dates]) -> Iterator[Keyed]:
    return ((document_id(one.key), one) for one in dates)


def _merged(streams: Sequence[Iterator[Keyed]]) -> Iterator[Keyed]:
    """Return the dates of several streams, each in the order of ids, each key once."""
    for id, group in groupby(heapq.merge(*streams, key=_id), key=_id):
        several = [one for _, one in group]
        if len(several) == 1:
            yield id, several[0]
        else:
            pairs = {pair for one in several for pair in one.seen}
            yield id, Dates(several[0].key, tuple(sorted(pairs)))


def _id(keyed: Keyed) -> str:
    return keyed[0]
