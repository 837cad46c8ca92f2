"""Crawl specifications in an archive: saved, read by name, restored, checked; limits of crawls."""

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from cachetools import LRUCache, TTLCache

from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import (
    AnalysedVersion,
    CrawlIndex,
    ScoredLink,
    StoredSpecification,
    score_id,
    specification_id,
)
from nwx.engine.indices.crawl_queue import LeaseLimits
from nwx.errors import ErrorText, SourceError, SpecificationError, UsageError
from nwx.model import IndexName
from nwx.steering.specifications.file_values import SpecificationProblem
from nwx.steering.specifications.specification import CrawlSpecification, Limits
from nwx.steering.specifications.specification_files import (
    MOST_SPECIFICATION_CHARACTERS,
    read_specification,
)

__all__ = ["AnalysedVersion", "ScoredLink", "StoredSpecification"]

_SUFFIXES = (".toml", ".json")
_EXAMPLES = re.compile(r'(?:^|[{,])\s*"?like"?\s*[=:]', re.MULTILINE)

MOST_UNREAD = 25
"""Pages given and not analysed, at most: priorities only improve as pages are analysed.

On made webs 10 cost 1 % of the relevant pages within the budget, 25 3 %, 50 6 % and 100 31 %
(`benchmarks/notes.md`).
"""

_PATIENCE_SECONDS = 60.0
_RATE_SECONDS = 2.0
"""As many pages as are analysed in this time may always be unread."""


class UnknownCrawlError(UsageError):
    """A crawl without a specification in the archive, or without this version."""


def steering_specification(
    engine: Engine, place: str, like: Sequence[str] = ()
) -> CrawlSpecification:
    """Return the specification in a file (saving it first) or the saved one of that name.

    `like` are additional example documents; with them it is saved again.

    Raises SpecificationError on an invalid file, SourceError on an unreadable one, and
    UnknownCrawlError if neither file nor saved specification exists.
    """
    text, last = _completed(engine, place, like)
    specification = read_specification(text, place)
    if text != last:
        version = specification.version()
        engine.crawl_index().save_specification(specification.name, version, text)
    return specification


def specification_at(engine: Engine, place: str, like: Sequence[str] = ()) -> CrawlSpecification:
    """Return the same as `steering_specification`, without saving it."""
    return read_specification(_completed(engine, place, like)[0], place)


def _completed(engine: Engine, place: str, like: Sequence[str]) -> tuple[str, str]:
    """Return a text with the words of its examples, and the saved text it is from, else ""."""
    is_file = names_file(place)
    stored = "" if is_file else stored_specification(engine.crawl_index(), place).text
    text = file_text(Path(place)) if is_file else stored
    return with_examples(engine, text, place, like, files=True), stored


def with_examples(
    engine: Engine, text: str, place: str, like: Sequence[str] = (), *, files: bool = False
) -> str:
    """Return the text of a specification with the words of its examples and of those in `like`.

    Examples may be files only with `files`. Raises SpecificationError on an invalid example.
    """
    if not like and not _EXAMPLES.search(text):
        return text
    # Imported here: it loads the readers of pages.
    from nwx.steering.specifications.examples import completed_text

    return completed_text(engine, text, place, like, files=files)


def names_file(place: str) -> bool:
    """Return whether `place` names a specification file rather than a crawl."""
    return Path(place).suffix.lower() in _SUFFIXES or Path(place).is_file()


def file_text(path: Path) -> str:
    """Return the text of a file; raises SourceError if it cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_SPECIFICATION_CHARACTERS + 1)
    except OSError as error:
        raise SourceError.translated(
            "%(path)s cannot be read (%(reason)s)", path=path, reason=error
        ) from error
    except UnicodeDecodeError as error:
        why = ErrorText("byte %(number)s is not UTF-8", number=error.start + 1)
        raise SpecificationError(str(path), [SpecificationProblem("", why)]) from error
    return text


def save_text(
    crawls: CrawlIndex, text: str, place: str, expected: int | None = None
) -> StoredSpecification:
    """Save a specification under its name, as `CrawlIndex.save_specification` does.

    `place` names the text in messages. Raises SpecificationError on an invalid specification.
    """
    specification = read_specification(text, place)
    return crawls.save_specification(
        specification.name, specification.version(), text, expected=expected
    )


def stored_specification(crawls: CrawlIndex, name: str, version: str = "") -> StoredSpecification:
    """Return the latest saved specification of a crawl, or the one of a number or version.

    Raises UnknownCrawlError if it does not exist.
    """
    number = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else None
    found = crawls.specification(name, number=number) if number is not None else None
    found = found or crawls.specification(name, version)
    if found is not None:
        return found
    known = [one.name for one in crawls.specifications()]
    if name in known:
        raise UnknownCrawlError.translated(
            "the crawl %(name)s has no version %(version)s; `nwx crawls versions "
            "%(name)s` lists them",
            name=name,
            version=repr(version),
        )
    names = ErrorText("none has been added yet")
    if known:
        names = ErrorText("known are %(choices)s", choices=", ".join(known[:20]))
    raise UnknownCrawlError.translated(
        "there is no crawl specification %(name)s (%(names)s); `nwx crawls add FILE` adds one",
        name=repr(name),
        names=names,
    )


def specification_of(stored: StoredSpecification) -> CrawlSpecification:
    """Return a saved specification, parsed."""
    return read_specification(stored.text, f"{stored.name} (saved as number {stored.number})")


def crawls_by_collection(crawls: CrawlIndex) -> dict[str, tuple[str, ...]]:
    """Return the names of crawls by the collection that their specifications name."""
    found: dict[str, tuple[str, ...]] = {}
    for stored in crawls.specifications():
        with suppress(SpecificationError):
            collection = specification_of(stored).collection
            found[collection] = (*found.get(collection, ()), stored.name)
    return found


def why_no_links(crawls: CrawlIndex, name: str, version: str) -> str:
    """Return why a crawl has no scored links; raises UnknownCrawlError without the crawl."""
    stored_specification(crawls, name)
    known = [one.version for one in crawls.analysed_versions(name)]
    if not known:
        return f"no document was analysed yet; run `nwx steer {name}`"
    if version and version not in known:
        return f"nothing was analysed at version {version}; there are {', '.join(known[:20])}"
    return "the analysed pages have no links"


def restore(
    crawls: CrawlIndex, name: str, version: str, expected: int | None = None
) -> StoredSpecification:
    """Save an earlier specification again, as the newest, as `save_text` does."""
    earlier = stored_specification(crawls, name, version)
    return crawls.save_specification(name, earlier.version, earlier.text, expected)


CrawlProblem = tuple[str, str, str]
"""The kind of problem, the id of the entry, and the message."""

_AT_ONCE = 1_000


def check_crawls(engine: Engine) -> Iterator[CrawlProblem]:
    """Yield the problems of an archive's crawl index; nothing if the archive has none.

    Checks that saved specifications are readable, that documents with scores exist, and that the
    numbers of scores and linked URLs equal the stored counts.
    """
    crawls = engine.crawl_index()
    for last in crawls.specifications():
        numbers = set()
        for stored in crawls.versions(last.name):
            numbers.add(stored.number)
            try:
                specification_of(stored)
            except SpecificationError as error:
                id = specification_id(stored.name, stored.number)
                yield "specification", id, f"cannot be read: {error.problems[0]}"
        if lacking := last.number - len(numbers):
            id = specification_id(last.name, last.number)
            yield "specification", id, f"{lacking} that were saved before are missing"
    found: Counter[tuple[str, str, str]] = Counter()
    for stretch in batches(engine.scan(IndexName.CRAWLS), _AT_ONCE):
        found.update((one["kind"], one["crawl"], one["version"]) for one in stretch)
        yield from _undocumented(engine, [one for one in stretch if one["kind"] == "score"])
    yield from _miscounted(engine, found)


def _undocumented(engine: Engine, scores: list[Mapping[str, Any]]) -> Iterator[CrawlProblem]:
    ids = [one["document_id"] for one in scores]
    known = engine.known(ids) if ids else {}
    for one in scores:
        if one["document_id"] not in known:
            yield "undocumented", one["id"], "the document that it is about is missing"


def _miscounted(engine: Engine, found: Counter[tuple[str, str, str]]) -> Iterator[CrawlProblem]:
    for crawl in {crawl for _, crawl, _ in found}:
        for one in engine.crawl_index().analysed_versions(crawl):
            held = found["score", crawl, one.version], found["link", crawl, one.version]
            if held != (one.documents, one.urls):
                message = (
                    f"{one.documents} documents and {one.urls} linked URLs were counted, "
                    f"{held[0]} and {held[1]} are held"
                )
                yield "count", score_id(crawl, one.version), message


POLITE_LIMITS = LeaseLimits(delay_seconds=1.0, in_flight=1)
"""The limits of a server without options: the usual politeness of crawlers."""

_KNOWN_SECONDS, _COUNTED_SECONDS = 5.0, 0.5
_KNOWN_CRAWLS = 1_000
_KNOWN_TEXTS = 20


class SpecificationLimits:
    """Limits of crawls by name (`LimitsOf`); changes take effect after a few seconds.

    A crawler is given only a few more pages than are analysed. Delay and leases in flight are the
    `usual` ones; the limits of pages, in total and of a host, are those of the crawl's
    specification if it sets them.
    """

    def __init__(self, engine: Engine, usual: LeaseLimits) -> None:
        self._crawls, self._queue = engine.crawl_index(), engine.crawl_queue()
        self._usual = usual
        self._unread: LRUCache[str, UnreadPages] = LRUCache(_KNOWN_CRAWLS)
        self._now: TTLCache[str, LeaseLimits] = TTLCache(_KNOWN_CRAWLS, _COUNTED_SECONDS)
        self._known: TTLCache[str, LeaseLimits] = TTLCache(_KNOWN_CRAWLS, _KNOWN_SECONDS)
        # A large specification takes seconds to read, and changes rarely.
        self._of_texts: LRUCache[StoredSpecification, Limits] = LRUCache(_KNOWN_TEXTS)
        self._guard = threading.Lock()

    def __call__(self, crawl: str) -> LeaseLimits:
        """Return the limits of a crawl."""
        with self._guard:
            now = self._now.get(crawl)
            if now is None:
                found = self._known.get(crawl)
                if found is None:
                    found = self._known[crawl] = self._read(crawl)
                now = self._now[crawl] = self._kept_back(crawl, found)
            return now

    def _kept_back(self, crawl: str, limits: LeaseLimits) -> LeaseLimits:
        """Return limits that keep the crawler from running far ahead of the analysis."""
        if not crawl:
            return limits
        counts = self._queue.counts(crawl)
        versions = self._crawls.analysed_versions(crawl)
        analysed = max((version.documents for version in versions), default=0)
        unread = self._unread.setdefault(crawl, UnreadPages())
        bound = unread.bound(counts.leased + counts.done, analysed)
        if bound is None or (limits.pages is not None and limits.pages <= bound):
            return limits
        return replace(limits, pages=bound)

    def _read(self, crawl: str) -> LeaseLimits:
        stored = self._crawls.specification(crawl) if crawl else None
        if stored is None:
            return self._usual
        limits = self._of_texts.get(stored)
        if limits is None:
            limits = self._of_texts[stored] = specification_of(stored).limits
        pages = self._usual.pages if limits.pages is None else limits.pages
        of_host = limits.pages_per_host
        of_host = self._usual.pages_per_host if of_host is None else of_host
        return replace(self._usual, pages=pages, pages_per_host=of_host)


class UnreadPages:
    """Bounds how many URLs of a crawl are given, by how many of their pages are analysed.

    Not every URL yields a page: if the bound is reached and nothing is analysed for a minute, all
    given URLs count as read, and the share of URLs that yield a page is computed from them. If
    nothing is analysed at all, there is no bound after that.
    """

    def __init__(
        self, most: int = MOST_UNREAD, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._least, self._clock = most, clock
        self._begin: tuple[int, int] | None = None
        self._share = 1.0
        self._read = 0
        self._full_since: float | None = None
        self._measured = (clock(), 0)
        self._most = most

    def bound(self, given: int, analysed: int) -> int | None:
        """Return how many URLs may be given in total, None for no bound."""
        if not analysed:
            return None
        if self._begin is None:
            self._begin = given, analysed
        new, read = given - self._begin[0], analysed - self._begin[1]
        now = self._clock()
        if read > self._read:
            self._full_since, self._read = None, read
        self._measure(now, read)
        if new > 0:
            self._share = min(1.0, max(self._share, read / new))
        room = self._most - (self._share * new - read)
        if room >= 1:
            self._full_since = None
        elif self._full_since is None:
            self._full_since = now
        elif now - self._full_since >= _PATIENCE_SECONDS:
            self._full_since = None
            self._share, room = max(0.0, read / new), self._most
        if self._share <= 0:
            return None
        return given + max(0, math.floor(room / self._share))

    def _measure(self, now: float, read: int) -> None:
        then, before = self._measured
        if now - then >= _RATE_SECONDS:
            rate = (read - before) / (now - then)
            self._most = max(self._least, int(rate * _RATE_SECONDS))
            self._measured = now, read
