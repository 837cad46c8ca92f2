"""Crawl-time deduplication: whether a fetched payload must be written again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from fnmatch import fnmatchcase

from nwx.model import Capture
from nwx.values.timestamps import parse_timestamp, to_timestamp
from nwx.values.urlkeys import urlkey


class Key(StrEnum):
    """The fields that must be equal for one capture to be a duplicate of another."""

    URL_DIGEST = "url+digest"
    URLKEY_DIGEST = "urlkey+digest"
    DIGEST = "digest"


class Keep(StrEnum):
    """The capture of a key that is kept, and not listed as a duplicate."""

    OLDEST = "oldest"
    NEWEST = "newest"
    LARGEST = "largest"  # the longest record; the oldest of several
    ORIGINAL = "original"  # the oldest that is not a revisit; the oldest if all are


class Revisits(StrEnum):
    """The treatment of revisit records: included, left out, or read alone."""

    IN = "in"
    OUT = "out"
    ONLY = "only"


_FIRST = "19000101000000"

DigestLookup = Callable[[str, str], Iterator[Capture]]
"""`Engine.captures_by_digest`."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy: which payloads may be written as revisits, and of which originals.

    An original has the fetched URL (in any spelling with the same urlkey), or with `any_url` any
    URL. MIME types may have wildcards (`image/*`). Only captures of `collections` count; empty
    means all. With `original_there`, the file of an original must still exist at its known path.
    """

    any_url: bool = False
    min_bytes: int = 0
    mime_in: tuple[str, ...] = ()
    mime_out: tuple[str, ...] = ()
    max_age_days: float | None = None
    collections: tuple[str, ...] = ()
    original_there: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """A payload that a crawler has fetched, by its digest in normal form.

    `timestamp` is the time of the fetch (14 digits). Unknown values ("" or None) are taken from the
    original, which has the same payload.
    """

    digest: str
    timestamp: str
    url: str = ""
    content_type: str = ""
    content_length: int | None = None


@dataclass(frozen=True, slots=True)
class FoundOriginal:
    """The original that a revisit may refer to, or the reason why there is none."""

    original: Capture | None
    reason: str = ""


def find_original(
    lookup: DigestLookup, fetched: Fetched, policy: Policy, is_there: Callable[[Capture], bool]
) -> FoundOriginal:
    """Return the newest original that a policy allows, preferably of the same URL."""
    earliest = _earliest(fetched.timestamp, policy)
    where = " of this URL" if fetched.url and not policy.any_url else ""
    reason = ""
    for capture in _candidates(lookup, fetched, policy):
        if policy.collections and capture.collection not in policy.collections:
            continue
        problem = _problem(capture, fetched, policy)
        if problem:
            return FoundOriginal(None, problem)
        if capture.timestamp < earliest:
            reason = reason or f"the original is of {capture.timestamp}, which is too old"
        elif policy.original_there and not is_there(capture):
            reason = reason or f"the file of the original, {capture.source_file}, is missing"
        else:
            return FoundOriginal(capture)
    return FoundOriginal(None, reason or f"no capture{where} has this payload")


def _candidates(lookup: DigestLookup, fetched: Fetched, policy: Policy) -> Iterator[Capture]:
    """Yield originals: same URL first, then others, each group newest first."""
    key = urlkey(fetched.url) if fetched.url else ""
    if key:
        yield from lookup(fetched.digest, key)
    if policy.any_url or not key:
        for capture in lookup(fetched.digest, ""):
            if capture.urlkey != key:
                yield capture


def _problem(capture: Capture, fetched: Fetched, policy: Policy) -> str:
    """Return why a payload must not be deduplicated, "" if it may be."""
    size = fetched.content_length
    size = capture.content_length if size is None else size
    if size is not None and size < policy.min_bytes:
        return f"the payload has {size} bytes, fewer than {policy.min_bytes}"
    mime = (fetched.content_type or capture.content_type).lower()
    wanted = not policy.mime_in or _fits(mime, policy.mime_in)
    if not wanted or _fits(mime, policy.mime_out):
        return f"payloads of type {mime or 'unknown'} are not deduplicated"
    return ""


def _fits(mime: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(mime, pattern) for pattern in patterns)


def _earliest(timestamp: str, policy: Policy) -> str:
    if policy.max_age_days is None:
        return _FIRST
    try:
        return to_timestamp(parse_timestamp(timestamp) - timedelta(days=policy.max_age_days))
    except OverflowError:
        return _FIRST
