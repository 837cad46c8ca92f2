"""Pages of a site that came, went and changed between two dates, without the noise of numbers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, islice
from operator import attrgetter

from rapidfuzz.distance import Indel

from nwx.engine.access.aclj import scope_of
from nwx.engine.access.matches import reached_keys
from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.keys import document_id, document_key
from nwx.model import Capture

_BEHIND = chr(0x10FFFF)
_AT_ONCE = 200
_MOST_WORDS = 20_000
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\w*\d\w*")


class PageFate(StrEnum):
    """What became of a page."""

    GONE = "gone"
    NEW = "new"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class SiteChange:
    """A page that differs between its last captures before a date and after it.

    `before` and `after` are their timestamps, `before` is "" for a new page. `share` is the part of
    the words that differ, from 0 to 1; words with digits (dates, counters, sessions) do not count.
    """

    url: str
    change: PageFate
    share: float
    before: str
    after: str


def page_changes(engine: Engine, site: str, since: str, to: str) -> list[SiteChange]:
    """Return the changed pages of a site: those gone, those new, then those that changed most.

    `site` is a domain with its hosts, a URL, or a prefix of URLs that ends in `*`. Captures before
    `since` (14 digits) are compared with those from then `to`; without `since` the first capture
    of each page with its last. Raises UsageError if `site` is no such text.
    """
    order = list(PageFate)
    pairs, found = _pairs(engine, site, since, to), list[SiteChange]()
    while some := list(islice(pairs, _AT_ONCE)):
        found += _changes(engine, some)
    return sorted(found, key=lambda one: (order.index(one.change), -one.share, one.url))


_Pair = tuple[Capture | None, Capture]


def _pairs(engine: Engine, site: str, since: str, to: str) -> Iterator[_Pair]:
    """Yield the last captures before and after a date of each page with one after it."""
    for captures in _by_url(engine, site):
        if not any(one.content_type_norm == "html" for one in captures):
            continue
        late = [one for one in captures if since <= one.timestamp <= (to or _BEHIND)]
        early = [one for one in captures if one.timestamp < since] if since else late[:1]
        if late and (since or len(late) > 1):
            yield (early[-1] if early else None), late[-1]


def _by_url(engine: Engine, site: str) -> Iterator[list[Capture]]:
    text = site if re.search(r"[/*:,)]", site) else f"*.{site}"
    scope = scope_of(text)
    if not scope.prefix:
        raise UsageError.translated(
            "%(site)s is no site; write example.com, or http://example.com/a/*", site=site
        )
    keys, starts = reached_keys(scope)
    spans = [*((key, f"{key}\0") for key in keys), *((one, one + _BEHIND) for one in starts)]
    for start, end in spans:
        for _, captures in groupby(engine.captures(start, end), attrgetter("urlkey")):
            yield sorted(captures, key=attrgetter("timestamp"))


def _changes(engine: Engine, pairs: Sequence[_Pair]) -> Iterator[SiteChange]:
    wanted = {_id(one) for pair in pairs for one in pair if one and _is_shown(one)}
    found = engine.documents(list(wanted))
    texts = {id: document.extract.content for id, document in found.items()}
    for before, after in pairs:
        was, now = bool(before and _is_shown(before)), _is_shown(after)
        earlier = before.timestamp if before else ""
        if was and before and now:
            share = _share(texts.get(_id(before), ""), texts.get(_id(after), ""))
            if before.digest != after.digest and share:
                yield SiteChange(after.url, PageFate.CHANGED, share, earlier, after.timestamp)
        elif was != now:
            change = PageFate.NEW if now else PageFate.GONE
            yield SiteChange(after.url, change, 1.0, earlier, after.timestamp)


def _id(capture: Capture) -> str:
    return capture.document_id or document_id(document_key(capture.url, capture.digest))


def _is_shown(capture: Capture) -> bool:
    status = capture.status_code
    return capture.record_type == "revisit" or (status is not None and status < 300)


def _share(old: str, new: str) -> float:
    return float(Indel.normalized_distance(_words(old), _words(new)))


def _words(text: str) -> list[str]:
    words: Iterable[str] = _WORD.findall(text.lower())
    return [one for one in words if not _NUMBER.fullmatch(one)][:_MOST_WORDS]
