"""Selection of captures in CDX files, and of the capture of each key that is kept."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nwx.bulk.arrays import KEY, Entries
from nwx.cdx.columns import CdxColumns, Mask
from nwx.dedup.key_hashes import KeyHash, Words
from nwx.dedup.policies import Keep, Key, Revisits
from nwx.values.records import add_counts

KEY_REST, ID, RANK, TIE = range(1, 5)
"""The positions of an entry's words after `KEY`."""

_NO_RANK = np.uint64(0xFFFFFFFFFFFFFFFF)


class MarkedDuplicates(NamedTuple):
    """The mask of duplicate entries, the number of keys, and the number of spared entries."""

    beaten: NDArray[np.bool_]
    keys: int
    spared: int


def mark_duplicates(entries: Entries, ranks: int, spared_by: int | None) -> MarkedDuplicates:
    """Find the entries that are not the best of their key.

    The best has the lowest first `ranks` words of rank, then the lowest id. Entries equal to the
    best in the column `spared_by` are not duplicates, unless they are held captures (rank 0).
    """
    rows, starts = _shared(entries)
    beaten = np.zeros(len(entries), np.bool_)
    if not len(rows):
        return MarkedDuplicates(beaten, len(entries), 0)
    among = entries[rows]
    lost = ~_best(among, starts, ranks)
    keys = len(entries) - int(np.count_nonzero(lost))
    spared = 0
    if spared_by is not None:
        counts = np.diff(starts, append=len(rows))
        same = among[:, spared_by] == np.repeat(among[~lost, spared_by], counts)
        same &= among[:, RANK] > 0
        spared = int(np.count_nonzero(lost & same))
        lost &= ~same
    beaten[rows] = lost
    return MarkedDuplicates(beaten, keys, spared)


def _shared(entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of keys with several entries, key by key, and the start of each key."""
    order = np.argsort(entries[:, KEY])
    keys = entries[order, KEY]
    same = keys[1:] == keys[:-1]
    several = np.zeros(len(entries), np.bool_)
    several[1:] |= same
    several[:-1] |= same
    rows = order[several]
    later = np.zeros(len(entries), np.bool_)
    later[1:] = same
    rest = entries[rows, KEY_REST]
    later = later[several]
    if (rest[1:] != rest[:-1])[later[1:]].any():
        # different keys with the same first half: happens once in billions of years
        rows = rows[np.lexsort((rest, entries[rows, KEY]))]
        pairs = entries[rows, :ID]
        later[1:] = (pairs[1:] == pairs[:-1]).all(axis=1)
    return rows, np.flatnonzero(~later)


def _best(entries: Entries, starts: NDArray[np.int64], ranks: int) -> NDArray[np.bool_]:
    """Return a mask of the entries that are the lowest of their group, by rank and then by id."""
    counts = np.diff(starts, append=len(entries))
    best = np.ones(len(entries), np.bool_)
    for column in (*range(RANK, RANK + ranks), ID):
        values = np.where(best, entries[:, column], _NO_RANK)
        best = values == np.repeat(np.minimum.reduceat(values, starts), counts)
    return best


_HIGHEST = 1 << 61


@dataclass(frozen=True, slots=True)
class CaptureFilter:
    """The definition of a duplicate, and the captures to consider.

    MIME types may have wildcards (`image/*`) and are compared in lower case. A capture with an
    unknown record length passes `min_bytes`.
    """

    key: Key = Key.URL_DIGEST
    keep: Keep = Keep.OLDEST
    min_bytes: int = 0
    mime_in: tuple[str, ...] = ()
    mime_out: tuple[str, ...] = ()
    revisits: Revisits = Revisits.IN

    @property
    def ranks(self) -> int:
        """The number of words of an entry's rank."""
        return 2 if self.keep is Keep.LARGEST else 1

    @property
    def ranked_by_date(self) -> bool:
        """Whether captures of equal rank always have the same timestamp."""
        return self.keep in (Keep.OLDEST, Keep.NEWEST)

    @property
    def named(self) -> bool:
        """Whether an extra word must identify captures with the same list line.

        That is, with the same URL, digest and timestamp.
        """
        return not (self.ranked_by_date and self.key is Key.URL_DIGEST)

    @property
    def words(self) -> int:
        """The number of words of an entry."""
        return RANK + self.ranks + self.named


@dataclass(slots=True)
class Passed:
    """The counts of captures read, and of those left out: without a digest, or by a filter.

    `not_captures` also counts lines of requests, metadata and other records.
    """

    lines: int = 0
    not_captures: int = 0
    without_digest: int = 0
    filtered: int = 0

    def add(self, other: "Passed") -> None:
        """Add the counts of another part."""
        add_counts(self, other)


def keep_selected(columns: CdxColumns, selection: CaptureFilter, passed: Passed) -> None:
    """Keep the selected captures in `columns`, and count the others."""
    read = len(columns)
    columns.keep(columns.names_captures())
    before = len(columns)
    passed.not_captures += read - before
    passed.lines += before
    columns.keep(~columns.is_missing("kc"))
    with_digest = len(columns)
    passed.without_digest += before - with_digest
    if selection.revisits is not Revisits.IN:
        revisits = columns.is_revisit()
        columns.keep(revisits if selection.revisits is Revisits.ONLY else ~revisits)
    if selection.mime_in or selection.mime_out:
        columns.keep(_by_mime(columns, selection))
    if selection.min_bytes:
        sizes = columns.sizes()
        columns.keep((sizes >= selection.min_bytes) | (sizes < 0))
    passed.filtered += with_digest - len(columns)


def key_entries(
    columns: CdxColumns, keys: KeyHash, selection: CaptureFilter, first_id: int, held: bool
) -> Entries:
    """Return an entry for each line; held captures rank before all other captures of their key."""
    return numbered_entries(columns, keys.of_key(columns), keys, selection, first_id, held)


def numbered_entries(
    columns: CdxColumns,
    numbers: tuple[Words, Words],
    keys: KeyHash,
    selection: CaptureFilter,
    first_id: int = 0,
    held: bool = False,
) -> Entries:
    """Return the result of `key_entries`, given the numbers of the keys."""
    entries = np.zeros((len(columns), selection.words), np.uint64)
    entries[:, KEY], entries[:, KEY_REST] = numbers
    entries[:, ID] = np.arange(first_id, first_id + len(columns), dtype=np.uint64)
    if held:
        return entries
    if selection.named:
        entries[:, -1] = keys.of_line(columns)
    match selection.keep:
        case Keep.OLDEST:
            entries[:, RANK] = columns.timestamp
        case Keep.NEWEST:
            entries[:, RANK] = _HIGHEST - columns.timestamp
        case Keep.ORIGINAL:
            entries[:, RANK] = columns.timestamp + _HIGHEST * columns.is_revisit()
        case Keep.LARGEST:
            entries[:, RANK] = _HIGHEST - columns.sizes()
            entries[:, TIE] = columns.timestamp
    return entries


def _by_mime(columns: CdxColumns, selection: CaptureFilter) -> Mask:
    verdicts: dict[bytes, bool] = {}
    types = columns.texts("m") if columns.has("m") else [b"-"] * len(columns)
    for content_type in set(types):
        text = content_type.decode("utf-8", "surrogateescape").lower()
        wanted = not selection.mime_in or any(fnmatchcase(text, p) for p in selection.mime_in)
        unwanted = any(fnmatchcase(text, pattern) for pattern in selection.mime_out)
        verdicts[content_type] = wanted and not unwanted
    return np.fromiter(map(verdicts.__getitem__, types), np.bool_, len(types))
