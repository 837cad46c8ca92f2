"""The changes of a collection for its followers, in OutbackCDX's protocol.

Sequence numbers are those of the change log. The captures that a log entry names are read in their
current state: those deleted since are left out, those stored again are not deleted. Captures that a
rule purges count as deleted, even before they are.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import REVISIT, CdxRow
from nwx.cdxserver.aliases import AliasedSource
from nwx.cdxserver.loaded_lines import capture_of
from nwx.cdxserver.sources import EngineSource
from nwx.cdxserver.write_batches import (
    PLACE_VERSION,
    USUAL_VERSION,
    AliasChange,
    BatchChange,
    CaptureChange,
    CaptureKey,
    write_batch,
)
from nwx.engine.access.decisions import AccessRules
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxSpan, exactly
from nwx.engine.indices.change_log import KEPT_DAYS, Aliases, LoggedChange, LoggedKind
from nwx.errors import CdxQueryError
from nwx.model import Capture

CAPTURES_A_BATCH = 10_000
DEFAULT_SIZE = 10 << 20


class NumberedBatch(NamedTuple):
    """A write batch and its sequence number."""

    number: int
    data: bytes


class ChangeFeed:
    """The changes of a collection, encoded for an index version of OutbackCDX."""

    def __init__(self, engine: Engine, collection: str, version: int = USUAL_VERSION) -> None:
        if version not in (USUAL_VERSION, PLACE_VERSION):
            raise CdxQueryError(f"version is {version}; choose {USUAL_VERSION} or {PLACE_VERSION}")
        self._engine, self._collection, self._version = engine, collection, version
        self._log = engine.change_log()
        self._listed = AliasedSource(EngineSource(engine), engine.aliases)
        self._rules = AccessRules()

    def sequence(self) -> int:
        """Return the number of the last change; all captures not logged yet count as one change."""
        self._log.forget(self._collection)
        head = self._log.begin(self._collection, self._engine.aliases)
        mark = self._engine.capture_mark()
        if mark == head.mark:
            return head.number
        new = self._engine.captures_since(head.mark, mark, self._collection)
        if next(new, None) is not None:
            return head.number + 1
        self._log.add_captures(self._collection, head, mark, mark, 0)
        return head.number

    def batches(self, since: int, size: int = DEFAULT_SIZE) -> Iterator[NumberedBatch]:
        """Yield the changes after a number, at least one, about `size` bytes in total.

        Raises CdxQueryError if the log has not reached the number, or no longer has the deletions
        after it; a follower that begins at 0 has nothing to delete.
        """
        if since > (reached := self.sequence()):
            raise CdxQueryError(f"there is no change {since}; the last is {reached}")
        head = self._log.head(self._collection)
        if head and 0 < since < head.forgotten:
            raise CdxQueryError(
                f"deletions up to {head.forgotten} were dropped after {KEPT_DAYS} days;"
                " follow with an empty archive"
            )
        return self._batches(since, size)

    def _batches(self, since: int, size: int) -> Iterator[NumberedBatch]:
        while size > 0:
            for change in self._log.after(self._collection, since):
                data = write_batch(change.number, self._records(change), self._version)
                yield NumberedBatch(change.number, data)
                since, size = change.number, size - len(data)
                if size <= 0:
                    return
            if not self._logged_new():
                return

    def _logged_new(self) -> bool:
        """Log the next stored captures that are not logged yet; return whether there were any."""
        head, mark = (
            self._log.begin(self._collection, self._engine.aliases),
            self._engine.capture_mark(),
        )
        if mark == head.mark:
            return False
        new = self._engine.captures_since(head.mark, mark, self._collection)
        marks = [reached for _, reached in islice(new, CAPTURES_A_BATCH)]
        reached = marks[-1] if len(marks) == CAPTURES_A_BATCH else mark
        self._log.add_captures(self._collection, head, reached, mark, len(marks))
        return bool(marks)

    def _records(self, change: LoggedChange) -> Iterator[BatchChange]:
        aliases = self._engine.aliases.of_collection(self._collection) or Aliases()
        self._rules = self._engine.access_index().rules()
        if change.kind is LoggedKind.DELETED:
            return map(self._as_it_is, map(_key_of, change.keys))
        if change.kind is LoggedKind.ALIASES:
            return chain.from_iterable(self._alias(key, aliases) for key in change.keys)
        stored = self._engine.captures_since(change.since, change.until, self._collection)
        # If some were deleted since, later captures are included, which is harmless.
        some = (one for one, _ in islice(stored, change.captures))
        return (_stored(row_of(one), aliases) for one in some if not self._rules.purges(one))

    def _as_it_is(self, key: CaptureKey) -> CaptureChange:
        """Return the current capture of a key, or its deletion if there is none."""
        if self._listed.resolved(key.urlkey, self._collection) != key.urlkey:
            return CaptureChange(key, None)
        span = CdxSpan(
            f"{key.urlkey} {key.timestamp}",
            f"{key.urlkey} {key.timestamp}!",
            collection=self._collection,
        )
        found = None
        for row in self._listed.rows(span):
            if self._version < PLACE_VERSION or key[2:] == (row.offset, row.filename):
                found = found if self._purges(row) else row
        return CaptureChange(key, found)

    def _purges(self, row: CdxRow) -> bool:
        rules = self._rules
        return not rules.purges_nothing and rules.purges(capture_of(row, self._collection))

    def _alias(self, key: str, aliases: Aliases) -> Iterator[BatchChange]:
        """Yield an alias and the captures it moved: deleted at the old key, stored at the new."""
        alias, _, before = key.partition(" ")
        yield AliasChange(alias, aliases.target(alias))
        for urlkey in aliases.through(alias):
            span = exactly(urlkey)
            for row in self._engine.cdx_rows(
                CdxSpan(span.start, span.end, collection=self._collection)
            ):
                if self._purges(row):
                    continue
                stored = _stored(row, aliases)
                if stored.key.urlkey != before:
                    yield self._as_it_is(stored.key._replace(urlkey=before))
                yield stored


def _stored(row: CdxRow, aliases: Aliases) -> CaptureChange:
    urlkey = aliases.resolved(row.urlkey)
    return CaptureChange(CaptureKey(urlkey, row.timestamp, row.offset, row.filename), row)


def _key_of(text: str) -> CaptureKey:
    return CaptureKey(*text.split(" ", 3))


def row_of(capture: Capture) -> CdxRow:
    """Return the CDX row of a capture."""
    mime = REVISIT if capture.record_type == "revisit" else capture.content_type or "unk"
    return CdxRow(
        capture.urlkey,
        capture.timestamp,
        capture.url,
        mime,
        _text(capture.status_code),
        capture.digest or NO_VALUE,
        capture.redirect_to or NO_VALUE,
        NO_VALUE,
        _text(capture.record_length),
        str(capture.source_file_offset),
        capture.source_file,
        capture.collection,
    )


def _text(number: int | None) -> str:
    return NO_VALUE if number is None else str(number)
