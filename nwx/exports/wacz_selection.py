"""The selection of captures for a WACZ: by query, URLs and collections."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.errors import UrlError
from nwx.exports.page_needs import PageNeeds
from nwx.model import Capture, Collapse, ReadError
from nwx.quality.stored_renders import PageMoment, has_renders, renders_of_pages
from nwx.query.question import Question
from nwx.searching.documents import captures_by_any_method
from nwx.values.urlkeys import urlkey

_LAST_KEY = "\U0010ffff"
_REVISIT = "revisit"
_CAPTURES_AT_ONCE = 50
"""The number of captures per look-up of renders."""


@dataclass(frozen=True, slots=True)
class WaczSelection:
    """Captures of the documents of a query and of URLs; without both, all captures.

    `limit` takes only the best documents of the query. `collections`, dates (14 digits, both
    inclusive, "" for none) and `filters` of a question, by name, restrict these.
    `with_resources` adds the captures that pages need for playback, of any collection and date.
    `with_originals` adds the originals of revisits.
    """

    query: str = ""
    urls: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    date_from: str = ""
    date_to: str = ""
    with_resources: bool = False
    with_originals: bool = True
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    limit: int | None = None

    @property
    def has_question(self) -> bool:
        """Whether the selection has a search, by query or filters."""
        return bool(self.query or self.filters)


def select_captures(
    engine: Engine, selection: WaczSelection, errors: list[ReadError]
) -> Iterator[Capture]:
    """Yield the captures of a selection, some of them twice.

    A revisit includes its original from anywhere in the archive, since it cannot be played without
    it. A capture of a page includes its renders. Invalid URLs are added to `errors`. Raises
    QueryError on an invalid query.
    """
    captures = _selected(engine, selection, errors)
    if selection.with_resources:
        captures = _with_resources(engine, captures)
    if not (selection.has_question or selection.urls) or not has_renders(engine):
        yield from captures
        return
    for some in batches(captures, _CAPTURES_AT_ONCE):
        yield from some
        yield from _renders(engine, selection, some)


def _with_resources(engine: Engine, captures: Iterator[Capture]) -> Iterator[Capture]:
    """Yield captures, each followed by the captures it needs."""
    needs = PageNeeds(engine)
    for some in batches(captures, _CAPTURES_AT_ONCE):
        yield from some
        yield from needs.needed_captures(some)


def _selected(
    engine: Engine, selection: WaczSelection, errors: list[ReadError]
) -> Iterator[Capture]:
    for capture in _candidates(engine, selection, errors):
        if _wanted(capture, selection):
            yield capture
            if selection.with_originals and capture.record_type == _REVISIT:
                yield from islice(engine.originals_of(capture), 1)


def _renders(
    engine: Engine, selection: WaczSelection, captures: Iterable[Capture]
) -> Iterator[Capture]:
    """Yield the renders of captures in the selected collections."""
    pages = dict.fromkeys(PageMoment(each.url, each.timestamp) for each in captures)
    for found in renders_of_pages(engine, list(pages)):
        for _, capture in found:
            if not selection.collections or capture.collection in selection.collections:
                yield capture


def _candidates(
    engine: Engine, selection: WaczSelection, errors: list[ReadError]
) -> Iterator[Capture]:
    if not selection.has_question and not selection.urls:
        yield from engine.captures("", _LAST_KEY)
    if selection.has_question:
        yield from _of_query(engine, selection)
    for url in selection.urls:
        try:
            key = urlkey(url)
        except UrlError as error:
            errors.append(ReadError(url, None, "url", str(error)))
            continue
        yield from engine.captures(key)


def _of_query(engine: Engine, selection: WaczSelection) -> Iterator[Capture]:
    collections = {"collection": selection.collections} if selection.collections else {}
    question = Question(
        query=selection.query,
        filters={**selection.filters, **collections},
        date_from=selection.date_from,
        date_to=selection.date_to,
        collapse=Collapse.NONE,
        snippets=False,
    )
    limit = selection.limit
    hits = engine.search(replace(question, limit=limit)).hits if limit else engine.scroll(question)
    for hit in hits:
        for capture in captures_by_any_method(engine, hit.url):
            if capture.document_id == hit.id:
                yield capture


def _wanted(capture: Capture, selection: WaczSelection) -> bool:
    return (
        (not selection.collections or capture.collection in selection.collections)
        and (not selection.date_from or capture.timestamp >= selection.date_from)
        and (not selection.date_to or capture.timestamp <= selection.date_to)
    )


class Catalogue:
    """The distinct selected captures, their index lines and pages, in a temporary database."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE capture (collection, file, offset INTEGER, json, digest, revisit,"
            " PRIMARY KEY (collection, file, offset)) WITHOUT ROWID;"
            "CREATE TABLE line (line BLOB);"
            "CREATE TABLE page (id PRIMARY KEY, url, timestamp) WITHOUT ROWID;"
        )

    def add(self, captures: Iterable[Capture]) -> int:
        """Add captures; return the number of distinct ones so far."""
        rows = (
            (
                *(each.collection, each.source_file, each.source_file_offset),
                *(json.dumps(each._asdict()), each.digest, each.record_type == _REVISIT),
            )
            for each in captures
        )
        self._db.execute("BEGIN")
        self._db.executemany("INSERT OR IGNORE INTO capture VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._db.execute("COMMIT")
        return int(self._db.execute("SELECT count(*) FROM capture").fetchone()[0])

    def files(self) -> list[tuple[str, str, int]]:
        """Return collection, name and number of captures of each file, in order."""
        return self._db.execute(
            "SELECT collection, file, count(*) FROM capture GROUP BY collection, file"
            " ORDER BY collection, file"
        ).fetchall()

    def captures(self, collection: str, file: str) -> Iterator[Capture]:
        """Yield the captures of a file in the order of their offsets."""
        rows = self._db.execute(
            "SELECT json FROM capture WHERE collection = ? AND file = ? ORDER BY offset",
            (collection, file),
        )
        for (text,) in rows:
            yield Capture(**json.loads(text))

    def lone_revisits(self) -> Iterator[Capture]:
        """Yield one revisit for each file and payload that no other selected capture has.

        All revisits without a digest are included, as only the archive can find their originals.
        """
        rows = self._db.execute(
            "SELECT json, min(offset) FROM capture WHERE revisit AND digest <> '' AND digest NOT IN"
            " (SELECT digest FROM capture WHERE NOT revisit) GROUP BY collection, file, digest"
            " UNION ALL SELECT json, offset FROM capture WHERE revisit AND digest = ''"
        )
        for text, _ in rows:
            yield Capture(**json.loads(text))

    def holds(self, capture: Capture) -> bool:
        """Return whether a capture is selected."""
        found = self._db.execute(
            "SELECT 1 FROM capture WHERE collection = ? AND file = ? AND offset = ?",
            (capture.collection, capture.source_file, capture.source_file_offset),
        )
        return found.fetchone() is not None

    def add_line(self, line: bytes) -> None:
        """Add a line of the index."""
        self._db.execute("INSERT INTO line VALUES (?)", (line,))

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the index in byte order."""
        for (line,) in self._db.execute("SELECT line FROM line ORDER BY line"):
            yield line

    def add_page(self, capture: Capture) -> None:
        """Add the capture of a page; the earliest of each document counts."""
        self._db.execute(
            "INSERT INTO page VALUES (?, ?, ?) ON CONFLICT (id)"
            " DO UPDATE SET timestamp = min(timestamp, excluded.timestamp)",
            (capture.document_id, capture.url, capture.timestamp),
        )

    def pages(self) -> Iterator[tuple[str, str, str]]:
        """Yield document id, URL and timestamp of each page, by URL and timestamp."""
        yield from self._db.execute("SELECT id, url, timestamp FROM page ORDER BY url, timestamp")

    def close(self) -> None:
        """Close the database."""
        self._db.close()
