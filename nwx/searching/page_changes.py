"""Pages of a site that are new, gone or changed between two dates, and watched sites."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from heapq import nlargest
from itertools import groupby, islice, pairwise
from operator import attrgetter
from typing import NamedTuple

from nwx.bulk.progress import batches
from nwx.engine.access.aclj import scope_of
from nwx.engine.access.matches import reached_keys
from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry, clean_text
from nwx.engine.indices.entry_store import EntryIndex
from nwx.errors import UrlError, UsageError
from nwx.keys import document_id, document_key
from nwx.model import Capture, IndexName
from nwx.searching.differences import HostNoise, changed_share, text_changes
from nwx.searching.trends import log_likelihood
from nwx.values.urlkeys import urlkey

_BEHIND = chr(0x10FFFF)
_AT_ONCE = 200
_LEARNED_PAIRS = 300
_MOST_WORDS = 30
_MOST_TEXT = 200_000
_LEAST_SCORE = 1.3
_LETTERS = re.compile(r"[^\W\d_]{3,}")


class PageFate(StrEnum):
    """How a page differs between two dates."""

    GONE = "gone"
    NEW = "new"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class SiteChange:
    """A page that differs between its last captures before and after a date.

    `before` and `after` are their timestamps; `before` is "" for a new page. `share` is the share
    of words that differ, from 0 to 1, without the host's noise (`HostNoise`).
    """

    url: str
    change: PageFate
    share: float
    before: str
    after: str


class ChangedWord(NamedTuple):
    """A word, and the number of compared pages that contained it before and contain it after."""

    word: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class SiteChanges:
    """The changes of a site: number of compared pages, pages that differ, words new and gone.

    The pages are in the order gone, new, changed; within each, the most changed first.
    """

    compared: int
    pages: tuple[SiteChange, ...]
    came: tuple[ChangedWord, ...] = ()
    went: tuple[ChangedWord, ...] = ()

    def count(self, change: PageFate | str) -> int:
        """Return the number of pages that are gone, new or changed."""
        return sum(one.change == change for one in self.pages)


def site_changes(
    engine: Engine, site: str, since: str = "", to: str = "", *, latest: bool = False
) -> SiteChanges:
    """Return the changes of a site.

    `site` is a domain with its hosts, a URL, or a URL prefix that ends in `*`. The last capture of
    each page before `since` (14 digits) is compared with the last from then `to`; without `since`,
    the first capture with the last. With `latest`, the last version of each page, if not before
    `since`, is compared with the previous one. Raises UsageError if `site` is none of these.
    """
    order = list(PageFate)
    noise = _learned(engine, site)
    pairs, words = _pairs(engine, site, since, to, latest=latest), _Words()
    found, compared = list[SiteChange](), 0
    for some in batches(pairs, _AT_ONCE):
        compared += len(some)
        found += _changes(engine, some, noise, words)
    found.sort(key=lambda one: (order.index(one.change), -one.share, one.url))
    return SiteChanges(compared, tuple(found), *words.ranked())


_Pair = tuple[Capture | None, Capture]


def _pairs(engine: Engine, site: str, since: str, to: str, *, latest: bool) -> Iterator[_Pair]:
    """Yield the last captures before and after a date, for each page captured after it."""
    for captures in _pages(engine, site):
        known = [one for one in captures if one.timestamp <= (to or _BEHIND)]
        if latest:
            versions = _versions(known)
            if versions and versions[-1].timestamp >= since:
                yield (versions[-2] if len(versions) > 1 else None), versions[-1]
            continue
        late = [one for one in known if since <= one.timestamp]
        early = [one for one in known if one.timestamp < since] if since else late[:1]
        if late and (since or len(late) > 1):
            yield (early[-1] if early else None), late[-1]


def _versions(captures: Sequence[Capture]) -> list[Capture]:
    """Return the first capture of each run with the same digest."""
    runs = groupby(captures, attrgetter("digest"))
    return [next(run) for _, run in runs]


def _learned(engine: Engine, site: str) -> dict[str, HostNoise]:
    """Return the noise of each host of a site, from successive versions of its pages."""
    noise, pairs = defaultdict[str, HostNoise](HostNoise), Counter[str]()

    def wanted() -> Iterator[tuple[Capture, Capture]]:
        for captures in _pages(engine, site):
            shown = _versions([one for one in captures if _is_shown(one)])
            for pair in islice(
                pairwise(shown), _LEARNED_PAIRS - pairs[shown[0].host] if shown else 0
            ):
                pairs[pair[0].host] += 1
                yield pair

    for some in batches(wanted(), _AT_ONCE):
        texts = _texts(engine, (one for pair in some for one in pair))
        for old, new in some:
            changes = text_changes(texts.get(_id(old), ""), texts.get(_id(new), ""))
            noise[old.host].learn(old.urlkey, changes)
    return noise


def _pages(engine: Engine, site: str) -> Iterator[list[Capture]]:
    for captures in _by_url(engine, site):
        if any(one.content_type_norm == "html" and one.method == "GET" for one in captures):
            yield captures


def _by_url(engine: Engine, site: str) -> Iterator[list[Capture]]:
    text = site if re.search(r"[/*:,)]", site) else f"*.{site}"
    scope = scope_of(text)
    if not scope.prefix:
        raise UsageError.translated(
            "%(site)s is not a site; write example.com, or http://example.com/a/*", site=site
        )
    keys, starts = reached_keys(scope)
    spans = [*((key, f"{key}\0") for key in keys), *((one, one + _BEHIND) for one in starts)]
    for start, end in spans:
        for _, captures in groupby(engine.captures(start, end), attrgetter("urlkey")):
            kept = (one for one in captures if not _redirects_to_itself(one))
            yield sorted(kept, key=attrgetter("timestamp"))


def _redirects_to_itself(capture: Capture) -> bool:
    """Return whether a capture redirects to another spelling of its URL, such as http to https."""
    with suppress(UrlError):
        return bool(capture.redirect_to) and urlkey(capture.redirect_to) == capture.urlkey
    return False


def _texts(engine: Engine, captures: Iterable[Capture]) -> dict[str, str]:
    found = engine.texts(list({_id(one) for one in captures}))
    return {id: document.extract.content for id, document in found.items()}


def _changes(
    engine: Engine, pairs: Sequence[_Pair], noise: Mapping[str, HostNoise], words: "_Words"
) -> Iterator[SiteChange]:
    texts = _texts(engine, (one for pair in pairs for one in pair if one and _is_shown(one)))
    for before, after in pairs:
        was, now = bool(before and _is_shown(before)), _is_shown(after)
        old = texts.get(_id(before), "") if was and before else ""
        new = texts.get(_id(after), "") if now else ""
        words.add(old if was else None, new if now else None)
        share = 1.0 if was != now else 0.0
        if was and now and before and before.digest != after.digest:
            changes = noise[after.host].without(text_changes(old, new))
            share = changed_share(changes, old, new)
        if share:
            change = PageFate.CHANGED if was and now else PageFate.NEW if now else PageFate.GONE
            earlier = before.timestamp if before else ""
            yield SiteChange(after.url, change, share, earlier, after.timestamp)


class _Words:
    """Counts the pages with each word before and after."""

    def __init__(self) -> None:
        self._before, self._after = Counter[str](), Counter[str]()
        self._pages = [0, 0]

    def add(self, old: str | None, new: str | None) -> None:
        for at, (text, words) in enumerate(((old, self._before), (new, self._after))):
            if text is not None:
                self._pages[at] += 1
                words.update(set(_LETTERS.findall(text[:_MOST_TEXT].lower())))

    def ranked(self) -> tuple[tuple[ChangedWord, ...], tuple[ChangedWord, ...]]:
        """Return the words that came and the words that went, each by log-likelihood."""
        before, after = self._pages
        return (
            self._ranked(self._after, after, self._before, before),
            self._ranked(self._before, before, self._after, after),
        )

    def _ranked(
        self, here: Counter[str], read: int, there: Counter[str], others: int
    ) -> tuple[ChangedWord, ...]:
        scores = {
            word: log_likelihood(count, read, count + there[word], read + others)
            for word, count in here.items()
        }
        best = nlargest(_MOST_WORDS, scores, key=lambda word: (scores[word], word))
        return tuple(
            ChangedWord(word, self._before[word], self._after[word])
            for word in best
            if scores[word] >= _LEAST_SCORE
        )


def _id(capture: Capture) -> str:
    return capture.document_id or document_id(document_key(capture.url, capture.digest))


def _is_shown(capture: Capture) -> bool:
    status = capture.status_code
    if capture.record_type == "revisit" and status in (None, 304):
        return True
    return status is not None and status < 300


MOST_WATCHED = 1_000
_MOST_ADDRESS = 2_000


@dataclass(frozen=True, slots=True)
class WatchedSite:
    """A site, URL or URL prefix whose changes are reported.

    `webhook` receives them as JSON. `told` is the timestamp of the last reported change.
    """

    site: str
    webhook: str = ""
    by: str = ""
    told: str = ""


_NAMES = tuple(field.name for field in fields(WatchedSite))


class WatchIndex(EntryIndex):
    """The index `watches` of an engine; writes are visible at once."""

    def sites(self) -> list[WatchedSite]:
        """Return the watched sites, sorted by name."""
        found = (
            WatchedSite(**{name: entry.get(name, "") for name in _NAMES})
            for entry in self._store.find()
        )
        return sorted(found, key=lambda one: one.site)

    def put(self, watched: WatchedSite) -> None:
        """Store a watched site, replacing one with the same name."""
        if watched.site not in (one.site for one in self.sites()) and (
            self._store.count() >= MOST_WATCHED
        ):
            raise UsageError.translated("at most %(most)s sites are watched", most=MOST_WATCHED)
        values = {name: clean_text(text) for name, text in asdict(watched).items() if text}
        self._store.put([{"id": _site_id(watched.site), "url": _url(watched.site), **values}])

    def remove(self, site: str) -> bool:
        """Remove a watched site; return whether it existed."""
        return self._store.is_made() and bool(self._store.delete([_site_id(site)]))

    def set_told(self, site: str, told: str) -> None:
        """Store the timestamp of the last reported change of a site, if it is still watched."""

        def change(known: Mapping[str, IndexEntry | None]) -> Mapping[str, IndexEntry | None]:
            return {id: entry | {"told": told} for id, entry in known.items() if entry}

        self._store.update([_site_id(site)], change)


def new_watch(engine: Engine, site: str, webhook: str, by: str) -> WatchedSite:
    """Return a site to watch; its changes until now count as reported.

    Raises UsageError on an invalid site or webhook address.
    """
    site = site.strip()
    if max(len(site), len(webhook)) > _MOST_ADDRESS:
        raise UsageError.translated(
            "the address has more than %(most)s characters", most=_MOST_ADDRESS
        )
    if webhook and not webhook.startswith(("http://", "https://")):
        raise UsageError.translated("a webhook is an http:// or https:// address")
    found = site_changes(engine, site, latest=True).pages
    return WatchedSite(site, webhook, by, newest_change(found))


def newest_change(changes: Iterable[SiteChange]) -> str:
    """Return the timestamp of the newest change, "" without changes."""
    return max((one.after for one in changes), default="")


def watch_index(engine: Engine) -> WatchIndex:
    """Return the index of watched sites."""
    return WatchIndex(engine.entry_store(IndexName.WATCHES))


def _url(site: str) -> str:
    """Return the URL by which access rules can hide a watched site; urlkeys are unchanged."""
    text = site.removeprefix("*.").rstrip("*")
    return text if "://" in text or "," in text else f"http://{text}"


def _site_id(site: str) -> str:
    return hashlib.sha256(site.encode("utf-8", "replace")).hexdigest()[:32]
