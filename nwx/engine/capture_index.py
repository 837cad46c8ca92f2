"""The captures of an archive, in CDX order and by digest, and spans to select them."""

import heapq
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from nwx.bulk.progress import batches
from nwx.captures import CaptureColumns
from nwx.cdx.rows import CdxRow
from nwx.data_classes import dataclass
from nwx.model import Capture
from nwx.values.timestamps import seconds_between


@dataclass(frozen=True, slots=True)
class CdxSpan:
    """The captures from one CDX position up to, excluding, another.

    A position is the beginning of a line: `urlkey`, or `urlkey timestamp`, compared as UTF-8 bytes.
    `collection` "" means all collections, `revisits` None both originals and revisits.
    """

    start: str
    end: str
    newest_first: bool = False
    collection: str = ""
    revisits: bool | None = None

    def bounds(self) -> tuple[str, str, str, str]:
        """Return urlkey and timestamp of the start, and of the end."""
        first, _, since = self.start.partition(" ")
        last, _, until = self.end.partition(" ")
        return first, since, last, until

    def beyond(self, row: CdxRow) -> bool:
        """Return whether a row lies after the span's end, in the order of the span."""
        place = f"{row.urlkey} {row.timestamp} "
        return place < self.start if self.newest_first else place >= self.end


@dataclass(frozen=True, slots=True)
class CdxLineForm:
    """The form of CDX lines: positions of fields in a `CdxRow`, and digests bare or prefixed."""

    places: tuple[int, ...]
    bare_digests: bool


@dataclass(frozen=True, slots=True)
class CdxBlock:
    """Captures of a span: `number` lines as one text, or rows if the lines are not plain."""

    text: str = ""
    number: int = 0
    rows: Sequence[CdxRow] = ()


def exactly(urlkey: str, since: str = "", until: str = "", *, collection: str = "") -> CdxSpan:
    """Return the span of one urlkey, from a timestamp up to, excluding, another."""
    end = f"{urlkey} {until}" if until else f"{urlkey}!"
    return CdxSpan(f"{urlkey} {since}", end, collection=collection)


class KeysAtTime(NamedTuple):
    """Urlkeys, and the moment (14 digits) near which their captures are wanted."""

    urlkeys: tuple[str, ...]
    timestamp: str


def nearest_captures(captures: Iterable[Capture], timestamp: str, most: int) -> list[Capture]:
    """Return the captures nearest to a moment, nearest first, the earlier first on ties."""

    def order(capture: Capture) -> tuple[float, str, str, str, int, str]:
        return (
            seconds_between(capture.timestamp, timestamp),
            capture.timestamp,
            capture.urlkey,
            capture.source_file,
            capture.source_file_offset,
            capture.collection,
        )

    return sorted(captures, key=order)[:most]


def lowest_statuses(found: Iterable[tuple[str, int | None]]) -> dict[str, int]:
    """Return the lowest status per urlkey of captures given by both; None counts as 0."""
    lowest: dict[str, int] = {}
    for urlkey, status in found:
        lowest[urlkey] = min(status or 0, lowest.get(urlkey, sys.maxsize))
    return lowest


COLUMN_ROWS = 20_000
"""The approximate number of captures yielded in columns at once."""

_BY_TIME = attrgetter("timestamp")
_BY_PLACE = attrgetter("source_file", "source_file_offset", "collection")


def newest_first(streams: Sequence[Iterator[Capture]]) -> Iterator[Capture]:
    """Merge streams of captures that are each in the order of `captures_of_digest`."""
    if len(streams) == 1:
        yield from streams[0]
        return
    merged = heapq.merge(*streams, key=_BY_TIME, reverse=True)
    for _, captures in groupby(merged, _BY_TIME):
        yield from sorted(captures, key=_BY_PLACE)


class CaptureIndex(ABC):
    """Look-up of captures, loading them without documents, and unloading."""

    @abstractmethod
    def captures(self, urlkey: str, end: str | None = None) -> Iterator[Capture]:
        """Yield captures in the order of urlkey, timestamp, file and offset.

        Captures of `urlkey`, or with `end` from `urlkey` up to, excluding, `end`, compared as UTF-8
        bytes.
        """

    def capture_columns(self, fields: Sequence[str]) -> Iterator[CaptureColumns]:
        """Yield some fields of all captures by column, in the order of `captures`.

        All values are texts, "" if missing. `document_id` is not available.
        """
        for some in batches(self.captures("", chr(0x10FFFF)), COLUMN_ROWS):
            columns = dict(zip(Capture._fields, zip(*some, strict=True), strict=True))
            yield {
                name: ["" if one is None else str(one) for one in columns[name]] for name in fields
            }

    @abstractmethod
    def captures_of_digest(self, digest: str, urlkey: str = "") -> Iterator[Capture]:
        """Yield the captures of a payload that have this digest (normal form), newest first.

        With `urlkey` only captures of this urlkey. Revisits, which have no payload, are excluded.
        Captures of one moment are in the order of file and offset.
        """

    @abstractmethod
    def statuses(
        self, urlkeys: Sequence[str], hides: Callable[[Capture], bool] | None = None
    ) -> dict[str, int]:
        """Return the lowest status code per urlkey, for urlkeys with captures that are not hidden.

        A capture without a status counts as 0.
        """

    @abstractmethod
    def captures_near(self, asked: "Sequence[KeysAtTime]", most: int) -> list[list[Capture]]:
        """Return for each question the captures of its urlkeys, nearest in time first.

        At most `most` per question (`nwx.engine.capture_index.nearest_captures`). Urlkeys too long
        for an index (8,000 characters) have none.
        """

    @abstractmethod
    def has_keys(self, starts: Sequence[str]) -> bool:
        """Return whether any capture's urlkey begins with one of these texts."""

    @abstractmethod
    def cdx_rows(self, span: "CdxSpan") -> "Iterator[CdxRow]":
        """Yield the captures of a span as CDX rows, in its order.

        Within one urlkey and timestamp they are in the order of file and offset; digests are in
        their normal form.
        """

    def cdx_blocks(self, span: "CdxSpan", form: "CdxLineForm") -> "Iterable[CdxBlock] | None":
        """Return the captures of a span as assembled lines.

        None if the engine reads rows as fast, and for spans with the newest first.
        """
        del span, form
        return None

    @abstractmethod
    def cdx_marks(self, span: "CdxSpan", every: int) -> Iterator[str]:
        """Yield the positions (`urlkey timestamp`) of the first of every `every` captures.

        In CDX order, whatever the order of the span.
        """

    @abstractmethod
    def collections(self) -> list[str]:
        """Return the names of the collections that have had captures, in order."""

    @abstractmethod
    def capture_mark(self) -> str:
        """Return the mark after all captures stored so far; "" without an archive."""

    @abstractmethod
    def captures_since(
        self, mark: str, until: str = "", collection: str = ""
    ) -> Iterator[tuple[Capture, str]]:
        """Yield the captures stored after a mark and up to another, each with the mark after it.

        The mark "" is the beginning; `until` defaults to the current end. With `collection` only
        its captures. Continuing from the mark of the last capture, or from `until` once there are
        no more, yields each stored capture once, whichever process stores it; a capture deleted and
        stored again is repeated. The order is roughly that of storing, and allows continuing from
        any mark. Raises StaleMarkError for a mark unknown to these captures.
        """

    @abstractmethod
    def load_captures(self, batches: Iterable[Sequence[Capture]]) -> int:
        """Store captures without documents, visible on return; return the number of new captures.

        Existing captures stay unchanged. Nothing is stored if `batches` raises. The embedded engine
        stores all or none in any event; if Elasticsearch is lost midway, repeating the call stores
        the rest.
        """

    @abstractmethod
    def unload_captures(self, ids: Iterable[str]) -> int:
        """Delete captures by their ids, gone on return; return the number deleted.

        Nothing is deleted if `ids` raises.
        """
