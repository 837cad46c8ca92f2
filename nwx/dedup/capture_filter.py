"""Which captures of a CDX file are looked at, and which of several is kept."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from nwx.bulk.key_parts import KEY, Entries
from nwx.cdx.columns import CdxColumns, Mask
from nwx.dedup.choices import Keep, Key, Revisits
from nwx.dedup.contest import ID, KEY_REST, RANK, TIE
from nwx.dedup.key_hashes import KeyHash, Words

_HIGHEST = 1 << 61


@dataclass(frozen=True, slots=True)
class CaptureFilter:
    """What is a duplicate of what, and which captures are looked at.

    MIME types may have wildcards (`image/*`) and are compared in lower
    case. A capture whose record length is not known passes `min_bytes`.
    """

    key: Key = Key.URL_DIGEST
    keep: Keep = Keep.OLDEST
    min_bytes: int = 0
    mime_in: tuple[str, ...] = ()
    mime_out: tuple[str, ...] = ()
    revisits: Revisits = Revisits.IN

    @property
    def ranks(self) -> int:
        """Return of how many words the rank of its entries is."""
        return 2 if self.keep is Keep.LARGEST else 1

    @property
    def ranked_by_date(self) -> bool:
        """Return whether captures of one rank are those of one second."""
        return self.keep in (Keep.OLDEST, Keep.NEWEST)

    @property
    def named(self) -> bool:
        """Return whether it takes a further word to tell which captures have one line in a list.

        That is the same URL, digest and second.
        """
        return not (self.ranked_by_date and self.key is Key.URL_DIGEST)

    @property
    def words(self) -> int:
        """Return of how many words its entries are."""
        return RANK + self.ranks + self.named


@dataclass(slots=True)
class Passed:
    """How many captures were read, and how many left out: without a digest, or by a filter.

    `not_captures` counts lines of requests, metadata and the like beside them.
    """

    lines: int = 0
    not_captures: int = 0
    without_digest: int = 0
    filtered: int = 0

    def add(self, other: "Passed") -> None:
        """Add the counts of another part."""
        self.lines += other.lines
        self.not_captures += other.not_captures
        self.without_digest += other.without_digest
        self.filtered += other.filtered


def keep_selected(columns: CdxColumns, selection: CaptureFilter, passed: Passed) -> None:
    """Leave out what is not looked at, and count it."""
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
    """Return an entry for each line; those of held ones come before all others of their key."""
    return numbered_entries(columns, keys.of(columns), keys, selection, first_id, held)


def numbered_entries(
    columns: CdxColumns,
    numbers: tuple[Words, Words],
    keys: KeyHash,
    selection: CaptureFilter,
    first_id: int = 0,
    held: bool = False,
) -> Entries:
    """Return what `entries_of` does, where the numbers of the keys are known."""
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
