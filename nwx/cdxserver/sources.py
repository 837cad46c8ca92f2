"""Sources of a CDX server: archives, files and clusters, merged and restricted to a viewer."""

import heapq
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from nwx.access.date_decisions import (
    HiddenAmong,
    blocks_naming_visible,
    is_all_hidden,
    rows_naming_visible,
    span_is_touched,
    visible_rows,
)
from nwx.access.restricted_engine import RestrictedEngine
from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import CdxRow, row_is_capture
from nwx.cdxserver.sorted_sources import CdxFileSource, ClusterSource
from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan
from nwx.engine.document_index import current_work
from nwx.errors import CaptureIndexError, FormatError, SourceError
from nwx.model import DEFAULT_COLLECTION

ROWS_BETWEEN_CHECKS = 512

BLOCK_LINES = 3_000
"""The number of captures between two marks, as in the blocks of a ZipNum cluster."""

_logger = logging.getLogger("nwx.cdxserver")


class RowSource(Protocol):
    """A sorted index of captures; `name` is shown to clients.

    An `is_local` source reads files of this machine, with little waiting.
    """

    name: str
    is_local: bool

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Return the captures of a span in its order."""

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterable[CdxBlock] | None:
        """Return the captures of a span as blocks of lines; None if rows are as fast.

        The blocks are a list if they are in memory already, as those of few captures.
        """

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Yield the places (`urlkey timestamp`) of captures about 3,000 apart, from the first."""

    def collections(self) -> Sequence[str]:
        """Return the names of the collections with captures in the source."""

    def close(self) -> None:
        """Close the files opened for the source; may be called twice."""


class EngineSource:
    """The captures of an archive as a source."""

    name = "the archive"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.is_local = engine.traits.is_local

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Return the captures of a span in its order."""
        return self._engine.cdx_rows(span)

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterable[CdxBlock] | None:
        """Return the captures of a span as blocks of lines, None if the engine has none."""
        return self._engine.cdx_blocks(span, form)

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Yield the place of every 3,000th capture."""
        return self._engine.cdx_marks(span, BLOCK_LINES)

    def collections(self) -> Sequence[str]:
        """Return the names of the collections of the archive."""
        return self._engine.collections()

    def close(self) -> None:
        """Do nothing: the opener of the engine closes it."""


class Sources:
    """Several sources merged into one."""

    name = "all sources"

    def __init__(self, sources: Sequence[RowSource]) -> None:
        self._sources = tuple(sources)
        self.is_local = all(source.is_local for source in self._sources)

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Yield the captures of all sources in the order of a span, without repeats.

        Requests, metadata and other records, as in indexes of all records, and in archives loaded
        from them, are left out. Raises CaptureIndexError if a source cannot be read.
        """
        streams = [filter(row_is_capture, _rows(source, span)) for source in self._sources]
        if len(streams) == 1:
            return without_repeats(streams[0])
        return without_repeats(heapq.merge(*streams, key=cdx_place, reverse=span.newest_first))

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterable[CdxBlock] | None:
        """Return the same captures as blocks of lines; None for several sources, with repeats."""
        if len(self._sources) != 1:
            return None
        source = self._sources[0]
        with _logged_faults(source):
            blocks = source.blocks(span, form)
        if isinstance(blocks, list) and not any(block.rows for block in blocks):
            return blocks
        return None if blocks is None else _blocks(source, blocks)

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Yield the marks of all sources, in order, each once."""
        before = ""
        streams = [_marks(source, replace(span, newest_first=False)) for source in self._sources]
        for mark in heapq.merge(*streams):
            if mark != before:
                yield mark
            before = mark

    def collections(self) -> Sequence[str]:
        """Return the names of all collections."""
        return sorted({name for source in self._sources for name in source.collections()})

    def close(self) -> None:
        """Close all sources."""
        for source in self._sources:
            source.close()


def _rows(source: RowSource, span: CdxSpan) -> Iterator[CdxRow]:
    """Yield the rows of a source, and check regularly whether the query was cancelled."""
    work = current_work()
    with _logged_faults(source):
        for number, row in enumerate(source.rows(span), 1):
            yield row
            if not number % ROWS_BETWEEN_CHECKS:
                work.check()


def _blocks(source: RowSource, blocks: Iterable[CdxBlock]) -> Iterator[CdxBlock]:
    work = current_work()
    read = 0
    with _logged_faults(source):
        for block in blocks:
            if block.rows:
                rows = tuple(filter(row_is_capture, block.rows))
                block = CdxBlock(rows=rows)
            yield block
            read += block.number + len(block.rows)
            while read >= ROWS_BETWEEN_CHECKS:
                read -= ROWS_BETWEEN_CHECKS
                work.check()


def _marks(source: RowSource, span: CdxSpan) -> Iterator[str]:
    work = current_work()
    with _logged_faults(source):
        for mark in source.marks(span):
            yield mark
            work.check()


@contextmanager
def _logged_faults(source: RowSource) -> Iterator[None]:
    """Log a source's errors with all details, and raise CaptureIndexError without them instead."""
    try:
        yield
    except (SourceError, FormatError) as error:
        _logger.error("%s", error)
        raise CaptureIndexError(
            f"the capture index {source.name} cannot be read: one of its files is missing, damaged"
            " or not sorted; see the log of the server"
        ) from error


def cdx_place(row: CdxRow) -> tuple[bytes, str]:
    """Return the sort key of rows."""
    return row.urlkey.encode("utf-8", "surrogateescape"), row.timestamp


def marks_of(rows: Iterator[CdxRow]) -> Iterator[str]:
    """Yield the place of every 3,000th row, from the first."""
    for row in islice(rows, 0, None, BLOCK_LINES):
        yield f"{row.urlkey} {row.timestamp}"


def without_repeats(rows: Iterator[CdxRow]) -> Iterator[CdxRow]:
    """Yield rows without repeats: the same record of the same file in a collection.

    Rows without a file are repeats if all their fields are equal.
    """
    before: CdxRow | None = None
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        if before is None or row[1] != before[1] or row[0] != before[0]:
            before = row
            seen.clear()
        else:
            if not seen:
                seen.add(_identity(before))
            identity = _identity(row)
            if identity in seen:
                continue
            seen.add(identity)
        yield row


def _identity(row: CdxRow) -> tuple[str, ...]:
    if row.filename == NO_VALUE:
        return row
    return (row.filename, row.offset, row.collection)


class RestrictedSource:
    """A source without the rows hidden from a viewer."""

    def __init__(self, source: RowSource, decisions: Decisions, hidden: HiddenAmong) -> None:
        self._source = source
        self._decisions, self._hidden = decisions, hidden
        self.name, self.is_local = source.name, source.is_local

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Yield the visible captures of a span in its order."""
        rows = self._source.rows(span)
        visible = visible_rows(rows, self._decisions) if self._is_touched(span) else rows
        return rows_naming_visible(visible, self._hidden)

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterable[CdxBlock] | None:
        """Return the same captures as blocks of lines; None if a rule applies to the span."""
        blocks = None if self._is_touched(span) else self._source.blocks(span, form)
        return blocks and blocks_naming_visible(blocks, form, self._hidden)

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Yield the places of visible captures about 3,000 apart, from the first."""
        if not self._is_touched(span):
            yield from self._source.marks(span)
            return
        yield from marks_of(self.rows(span))

    def collections(self) -> Sequence[str]:
        """Return the names of the collections that are not completely hidden."""
        return [
            name for name in self._source.collections() if not is_all_hidden(self._decisions, name)
        ]

    def close(self) -> None:
        """Do nothing: the owner of the source closes it."""

    def _is_touched(self, span: CdxSpan) -> bool:
        return span_is_touched(self._decisions, span)


def restricted_sources(
    sources: Sequence[RowSource], shown: RestrictedEngine
) -> tuple[RowSource, ...]:
    """Return sources without the captures hidden from a viewer."""
    return tuple(
        EngineSource(shown)
        if isinstance(source, EngineSource)
        else RestrictedSource(source, shown.decisions, shown.hidden_urls)
        for source in sources
    )


_CLUSTER_ENDS = (".idx", ".summary", ".wacz")
_FILE_ENDS = (".cdx", ".cdxj")


def open_sources(named: Sequence[str]) -> list[RowSource]:
    """Open the sources in `[COLLECTION=]PATH` texts; raises SourceError on unusable ones.

    A path is a CDX or CDXJ file, a ZipNum cluster (its folder, its `.idx`, an http(s) address, a
    WACZ), or a folder of CDX and CDXJ files.
    """
    return [source for name in named for source in _open(name)]


def _open(named: str) -> list[RowSource]:
    collection, equals, place = named.partition("=")
    # An address may contain `=`, and so may an existing path.
    if not equals or "/" in collection or Path(named).exists():
        collection, place = DEFAULT_COLLECTION, named
    if place.startswith(("http://", "https://")):
        return [ClusterSource(place, collection)]
    path = Path(place)
    if not path.exists():
        raise SourceError(f"{place} does not exist; name a CDX file, a cluster or a folder of them")
    if path.suffix.lower() in _CLUSTER_ENDS:
        return [ClusterSource(place, collection)]
    if path.is_dir():
        return _open_folder(path, collection)
    return [CdxFileSource(path, collection)]


def _open_folder(path: Path, collection: str) -> list[RowSource]:
    if any(path.glob("*.idx")) or any(path.glob("*.summary")):
        return [ClusterSource(str(path), collection)]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in _FILE_ENDS)
    if not files:
        raise SourceError(f"{path} contains neither an .idx file nor .cdx or .cdxj files")
    return [CdxFileSource(file, collection) for file in files]
