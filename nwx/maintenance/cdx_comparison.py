"""Comparison of the captures in CDX files with an archive."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nwx.bulk.progress import ShowProgress, WorkProgress, batches, no_progress
from nwx.cdx.files import compression, read_cdx
from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import (
    CdxRow,
    is_revisit_row,
    number_or_none,
    row_is_capture,
    text_or_empty,
)
from nwx.engine.base import Engine
from nwx.errors import CdxError, DigestError, UrlError
from nwx.keys import document_id, document_key, is_browsed
from nwx.model import EXCLUDED, Capture, SourceFile
from nwx.quality.missing_originals import wanted_original
from nwx.values.digests import normal_digest
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url

_AT_ONCE = 1_000
_PROBLEMS_LISTED = 100
_EXPANSION = 8
_NAME = re.compile(r"[#/\\]")

FileCoverage = Callable[[str, str, str], bool]
"""Returns whether a capture (URL, digest, timestamp) is on an exclusion list."""


class Cause(StrEnum):
    """Why a capture is missing."""

    EXCLUDED = "excluded"  # on an exclusion list
    NOT_IMPORTED = "not-imported"  # its file is not in the archive
    UNFINISHED = "unfinished"  # its file was read, but not that far
    DIGEST = "digest"  # the archive has other content at that time
    ORIGINAL = "original"  # a revisit whose original is not in the archive
    UNDOCUMENTED = "undocumented"  # the archive has its date, but not its document
    UNDATED = "undated"  # the archive has its document, but not its date
    UNREAD = "unread"  # its file was read to the end without such a capture
    UNKNOWN = "unknown"  # the line names no file


@dataclass(frozen=True, slots=True)
class Missing:
    """A capture missing in the archive; `message` is the known cause."""

    cause: Cause
    timestamp: str
    digest: str
    url: str
    file: str
    offset: int | None
    message: str


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A line with its values in the form of the archive; `id` is that of its key."""

    line: CdxRow
    url: str
    timestamp: str
    digest: str
    id: str

    @property
    def keys(self) -> list[str]:
        """The urlkeys its capture may have: that of the URL, and that of a POST request."""
        return list(dict.fromkeys(key for key in (urlkey(self.url), self.line.urlkey) if key))


@dataclass(frozen=True, slots=True, order=True)
class _State:
    """The archived parts of a capture: its date, and its document if it needs one."""

    is_dated: bool = False
    is_known: bool = False


_HELD = _State(is_dated=True, is_known=True)


class CdxComparison:
    """Looks up the captures in CDX files in an archive.

    `collection` is searched, "" for any. `covers` finds captures left out on purpose. While
    `missing` is iterated, `lines` counts the captures compared, `held` the ones in the archive,
    `not_captures` the lines of other records, `problems` lists the first broken lines and
    `problems_total` counts all.
    """

    def __init__(
        self, engine: Engine, collection: str = "", covers: FileCoverage | None = None
    ) -> None:
        self.lines = self.held = self.not_captures = self.problems_total = self._bytes = 0
        self.problems: list[CdxError] = []
        self._engine, self._collection, self._covers = engine, collection, covers
        self._files: defaultdict[str, list[SourceFile]] = defaultdict(list)
        for file in engine.files():
            if self._is_ours(file.collection):
                self._files[_file_name(file.name)].append(file)

    def missing(
        self, paths: Sequence[str], progress: ShowProgress = no_progress
    ) -> Iterator[Missing]:
        """Yield the captures missing in the archive, in the order of the files.

        A capture is held if the archive has its date and, for a URL that people browse, its
        document; for a revisit the original suffices, as for `nwx missing --originals`. Raises
        SourceError if a file cannot be read.
        """
        total = sum(map(_inflated_bytes, paths))
        for path in paths:
            for some in batches(read_cdx(path, self._note, on_line=self._count), _AT_ONCE):
                wanted = [_wanted(line) for line in some if row_is_capture(line)]
                others = self.not_captures
                found = list(self._missing(wanted))
                compared = len(wanted) - (self.not_captures - others)
                self.not_captures += len(some) - len(wanted)
                self.lines += compared
                self.held += compared - len(found)
                yield from found
                progress(WorkProgress("comparing", self._bytes, max(self._bytes, total)))

    def _count(self, size: int) -> None:
        self._bytes += size

    def _note(self, problem: CdxError) -> None:
        self.problems_total += 1
        if len(self.problems) < _PROBLEMS_LISTED:
            self.problems.append(problem)

    def _missing(self, lines: Sequence[_Wanted]) -> Iterator[Missing]:
        states = self._states((one.id, one.timestamp, one.url) for one in lines if one.id)
        unclear: list[_Wanted] = []
        for one in lines:
            state = states.get((one.id, one.timestamp), _State())
            if state == _HELD:
                continue
            cause = self._cause_by_file(one)
            if cause and one.id:
                yield _missing(one, state, *cause)
            else:
                unclear.append(one)
        for one, there in zip(unclear, self._captures(unclear), strict=True):
            same = [capture for capture in there if _may_be(one.digest, capture.digest)]
            found = self._states((c.document_id, c.timestamp, c.url) for c in same if c.digest)
            if any(self._is_held(capture, found) for capture in same):
                continue
            if self._is_metadata(one, there):
                self.not_captures += 1
                continue
            state = max(*found.values(), states.get((one.id, one.timestamp), _State()), _State())
            cause = self._cause_by_file(one) or self._cause(one, there, same, state)
            yield _missing(one, state, *cause)

    def _is_metadata(self, one: _Wanted, there: Iterable[Capture]) -> bool:
        """Return whether a line must be a metadata record, which some indexers list.

        The line does not say so, but if its file was read completely without an error, a line
        without a status or an archived capture is one.
        """
        line = one.line
        files = self._files.get(_file_name(line.filename), [])
        if line.status != NO_VALUE or is_revisit_row(line) or not is_browsed(one.url):
            return False
        if any(str(capture.source_file_offset) == line.offset for capture in there):
            return False
        return bool(files) and all(_has_metadata(file) for file in files)

    def _is_held(self, capture: Capture, states: Mapping[tuple[str, str], _State]) -> bool:
        """Return whether a capture has its date and its document, or a revisit its original.

        A capture without a digest has neither date nor document.
        """
        state = states.get((capture.document_id, capture.timestamp), _State())
        if state == _HELD:
            return True
        if capture.digest and not state.is_dated:
            return False
        if _is_revisit(capture):
            return wanted_original(self._engine, capture) is None
        return not capture.digest

    def _states(self, wanted: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], _State]:
        """Return the archived state of documents at dates, given as id, timestamp and URL."""
        wanted = list(wanted)
        ids = list({id for id, _, _ in wanted})
        dates = self._engine.dates(ids) if ids else {}
        known = self._engine.known(ids) if ids else {}
        seen = {
            id: {timestamp for timestamp, collection in found.seen if self._is_ours(collection)}
            for id, found in dates.items()
        }
        return {
            (id, timestamp): _State(
                is_dated=timestamp in seen.get(id, ()), is_known=id in known or not is_browsed(url)
            )
            for id, timestamp, url in wanted
        }

    def _is_ours(self, collection: str) -> bool:
        return self._collection in ("", collection)

    def _captures(self, lines: Sequence[_Wanted]) -> list[list[Capture]]:
        """Return for each line the captures of its URL, in any spelling, at its timestamp."""
        moments: defaultdict[str, set[str]] = defaultdict(set)
        for one in lines:
            for key in one.keys:
                moments[key].add(one.timestamp)
        found: defaultdict[tuple[str, str], list[Capture]] = defaultdict(list)
        for key, timestamps in moments.items():
            for capture in self._engine.captures(key):
                if capture.timestamp in timestamps and self._is_ours(capture.collection):
                    found[key, capture.timestamp].append(capture)
        return [[c for key in one.keys for c in found[key, one.timestamp]] for one in lines]

    def _cause_by_file(self, one: _Wanted) -> tuple[Cause, str] | None:
        """Return the cause if the list, or the ledger alone, shows it."""
        if self._covers and self._covers(one.url, one.digest or one.line.digest, one.timestamp):
            return Cause.EXCLUDED, "it is on the exclusion list"
        name, offset = text_or_empty(one.line.filename), number_or_none(one.line.offset)
        files = self._files.get(_file_name(name), []) if name else []
        if name and not files:
            return Cause.NOT_IMPORTED, f"{name} is not in the archive"
        if files and all(_is_ahead(file, offset) for file in files):
            return Cause.UNFINISHED, f"{name} was read up to {files[0].done_to} only"
        return None

    def _cause(
        self, one: _Wanted, there: Sequence[Capture], same: Sequence[Capture], state: _State
    ) -> tuple[Cause, str]:
        files = self._files.get(_file_name(one.line.filename), [])
        if there and not same:
            return Cause.DIGEST, f"the archive has {there[0].digest} at that time"
        lone = any(_is_revisit(capture) and not capture.digest for capture in same)
        if state.is_dated or lone:
            if lone or is_revisit_row(one.line) or any(map(_is_revisit, same)):
                return Cause.ORIGINAL, "its original is not in the archive"
            if not same and any(file.counts.get(EXCLUDED) for file in files):
                return Cause.EXCLUDED, f"an exclusion list left it out of {one.line.filename}"
            return Cause.UNDOCUMENTED, "its date is in the archive, its document is not"
        if same or (state.is_known and not files):
            return Cause.UNDATED, "its date is not in the archive"
        if files:
            errors = sum(file.counts.get("errors", 0) for file in files)
            read = f"{one.line.filename} was read, but has no such capture"
            return (
                Cause.UNREAD,
                f"{read}, but {errors:,} error{'' if errors == 1 else 's'}" if errors else read,
            )
        return Cause.UNKNOWN, "the archive has no capture of that time"


def _inflated_bytes(path: str) -> int:
    """Return the approximate decompressed size of a file, 0 for a stream."""
    if not Path(path).is_file():
        return 0
    return Path(path).stat().st_size * (_EXPANSION if compression(path) else 1)


def _missing(one: _Wanted, state: _State, cause: Cause, message: str) -> Missing:
    line = one.line
    if state.is_known and not state.is_dated and is_browsed(one.url):
        message += "; its document is in the archive, with another date"
    digest = one.digest or line.digest
    place = text_or_empty(line.filename), number_or_none(line.offset)
    return Missing(cause, one.timestamp, digest, one.url, *place, message)


def _wanted(line: CdxRow) -> _Wanted:
    url = _cleaned(line.url)
    try:
        digest = normal_digest(line.digest)
    except DigestError:
        digest = ""
    id = document_id(document_key(url, digest)) if digest else ""
    return _Wanted(line, url, normal_timestamp(line.timestamp), digest, id)


def _cleaned(url: str) -> str:
    try:
        return clean_url(url.encode("utf-8", "surrogateescape"))
    except UrlError:
        return url


def _file_name(path: str) -> str:
    """Return the last part of a file's name, the only part that indexers agree on."""
    return _NAME.split(path)[-1]


def _has_metadata(file: SourceFile) -> bool:
    """Return whether a file was read completely, without errors, and has metadata records."""
    counts = file.counts
    return bool(file.finished and counts.get("metadata") and not counts.get("errors"))


def _is_revisit(capture: Capture) -> bool:
    return capture.record_type == "revisit"


def _is_ahead(file: SourceFile, offset: int | None) -> bool:
    return not file.finished and (offset is None or offset >= file.done_to)


def _may_be(digest: str, other: str) -> bool:
    """Return whether digests may have the same content; True for different algorithms."""
    if not digest or not other or digest == other:
        return True
    return digest.partition(":")[0] != other.partition(":")[0]
