"""Documents with their dates and captures, and the versions of a URL."""

import heapq
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.errors import DigestError, TimestampError, UsageError
from nwx.keys import document_id, document_key, holds
from nwx.model import Capture, Dates, Document
from nwx.values.digests import normal_digest
from nwx.values.timestamps import parse_timestamp, seconds_between
from nwx.values.urlkeys import method_prefix, urlkey, with_scheme

_ID = re.compile(r"[0-9a-f]{32}")
_MOST_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document, all its dates, and its captures with a record in the archive."""

    id: str
    document: Document
    dates: Dates
    captures: tuple[Capture, ...]


@dataclass(frozen=True, slots=True)
class UrlVersion:
    """A version of a URL: its document, its first and last date, and the number of dates."""

    id: str
    url: str
    digest: str
    title: str
    first: str
    last: str
    captures: int


@dataclass(frozen=True, slots=True)
class CaptureDate:
    """A date of a URL: the collection and the id of the captured document, "" if unknown."""

    timestamp: str
    collection: str
    document_id: str


def id_of_key(text: str) -> str | None:
    """Return the document id of a text that is an id or `<url> <digest>`; None for other text.

    Raises UsageError if the URL is followed by an invalid digest.
    """
    if _ID.fullmatch(text):
        return text
    url, _, digest = text.strip().rpartition(" ")
    if not url:
        return None
    try:
        return document_id(document_key(url.strip(), normal_digest(digest)))
    except DigestError as error:
        raise UsageError.translated("%(reason)s; a key is <url> <digest>", reason=error) from error


def show(engine: Engine, id: str) -> ShownDocument | None:
    """Return the document with an id, or None; raises HiddenError if it may not be shown."""
    document = engine.documents([id]).get(id)
    if document is None:
        _check_document_shown(engine, id)
        return None
    capture = document.capture
    key = document_key(capture.url, capture.digest)
    dates = engine.dates([id]).get(id, Dates(key, ()))
    captures = tuple(c for c in engine.captures(capture.urlkey) if holds(c, id))
    return ShownDocument(id, document, dates, captures)


def versions(engine: Engine, url: str) -> list[UrlVersion]:
    """Return the versions of a URL and its other spellings, ordered by first date.

    Raises HiddenError if all versions are hidden.
    """
    counts = Counter(c.document_id for c in captures_by_any_method(engine, url) if c.document_id)
    ids = list(counts)
    found = [version for some in batches(ids, _MOST_AT_ONCE) for version in _versions(engine, some)]
    if not found:
        _check_url_shown(engine, url)
    return sorted(found, key=lambda version: (version.first, version.id))


def capture_dates(engine: Engine, url: str) -> list[CaptureDate]:
    """Return all dates of a URL, including dates without a record in the archive."""
    found = {
        CaptureDate(one.timestamp, one.collection, one.document_id)
        for one in captures_by_any_method(engine, url)
    }
    ids = [id for id in {one.document_id for one in found} if id]
    for some in batches(ids, _MOST_AT_ONCE):
        for id, dates in engine.dates(some).items():
            found |= {CaptureDate(*seen, id) for seen in dates.seen}
    if not found:
        _check_url_shown(engine, url)
    return sorted(found, key=lambda one: (one.timestamp, one.collection, one.document_id))


def version_at(engine: Engine, url: str, timestamp: str) -> Document:
    """Return the document of the capture of a URL nearest to a timestamp.

    Raises UsageError if no capture of the URL has a document.
    """
    dated = [one for one in capture_dates(engine, url) if one.document_id]
    dated.sort(key=lambda one: seconds_between(one.timestamp, timestamp))
    for one in dated:
        if document := engine.documents([one.document_id]).get(one.document_id):
            return document
    raise UsageError.translated("there is no document of %(url)s in this archive", url=url)


def _check_document_shown(engine: Engine, id: str) -> None:
    if engine.hidden_key:
        # Imported here: most engines hide nothing, and this loads all code that restricts access.
        from nwx.access.restricted_engine import check_document_shown

        check_document_shown(engine, id)


def _check_url_shown(engine: Engine, url: str) -> None:
    if engine.hidden_key:
        from nwx.access.restricted_engine import check_url_shown

        check_url_shown(engine, url)


def _versions(engine: Engine, ids: list[str]) -> Iterator[UrlVersion]:
    dates = engine.dates(ids)
    for id, document in engine.texts(ids).items():
        capture = document.capture
        seen = [timestamp for timestamp, _ in dates[id].seen] if id in dates else []
        yield UrlVersion(
            id,
            capture.url,
            capture.digest,
            document.extract.title,
            min(seen, default=capture.timestamp),
            max(seen, default=capture.timestamp),
            len(seen),
        )


_AT_ONCE, _MOST_NEAR = 50, 5_000
_MOST_ORIGINALS = 10
_MOST_ANSWERS = 10_000
"""The most captures of requests with a body (POST, PUT) that are examined."""


def captures_at(engine: Engine, urlkey: str, timestamp: str) -> Sequence[Capture]:
    """Return the captures of a urlkey at a timestamp, without reading all others."""
    most = _AT_ONCE
    while most <= _MOST_NEAR:
        (near,) = engine.captures_near([KeysAtTime((urlkey,), timestamp)], most)
        found = [one for one in near if one.timestamp == timestamp]
        if len(found) < most:
            return found  # captures at the timestamp are the nearest
        most *= 10
    return [one for one in engine.captures(urlkey) if one.timestamp == timestamp]


def document_near(engine: Engine, url: str, timestamp: str = "") -> str | None:
    """Return the id of the document of the capture of a URL nearest to a timestamp.

    For a revisit it may be a document with the same payload at another URL. Raises HiddenError if
    the URL may not be shown, and UsageError on an invalid timestamp.
    """
    captures = (one for one in captures_by_any_method(engine, url) if one.document_id)
    found = nearest(captures, timestamp, 1) if timestamp else list(islice(captures, 1))
    known = engine.known([one.document_id for one in found]) or _of_payload(engine, found)
    if not known:
        _check_url_shown(engine, url)
    return next(iter(known), None)


def nearest(captures: Iterable[Capture], timestamp: str, limit: int) -> list[Capture]:
    """Return the captures closest to a timestamp, closest first; raises UsageError if invalid."""
    try:
        instant = parse_timestamp(timestamp)
    except TimestampError as error:
        raise UsageError(error.text) from error
    return heapq.nsmallest(
        limit, captures, key=lambda capture: abs(parse_timestamp(capture.timestamp) - instant)
    )


def captures_by_any_method(engine: Engine, url: str) -> Iterator[Capture]:
    """Stream the captures of a URL, first by GET, then by requests with a body."""
    key = urlkey(with_scheme(url))
    prefix = method_prefix(key)
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    answers = islice(engine.captures(prefix, after), _MOST_ANSWERS)
    return chain(engine.captures(key), (one for one in answers if urlkey(one.url) == key))


def _of_payload(engine: Engine, revisits: Iterable[Capture]) -> Collection[str]:
    digests = (revisit.digest for revisit in revisits if revisit.digest)
    originals = chain.from_iterable(
        islice(engine.captures_by_digest(digest), _MOST_ORIGINALS) for digest in digests
    )
    return engine.known([original.document_id for original in originals])
