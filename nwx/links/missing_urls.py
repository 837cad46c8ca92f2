"""Missing URLs: linked by captured pages, but without a successful capture."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from nwx.bulk.arrays import Array
from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.inlinks.inlink_index import ID_BYTES
from nwx.engine.inlinks.table import InlinkTable
from nwx.errors import UrlError, UsageError
from nwx.keys import is_browsed
from nwx.links.archive_links import LOWEST_ERROR, ArchiveLinks, link_keys
from nwx.links.needed_urls import NeededUrls, needed_urls, needing_pages
from nwx.model import Document, Link
from nwx.values.timestamps import DateOption, date_bounds, seconds_between
from nwx.values.urlkeys import urlkey
from nwx.values.urls import (
    EMBEDDED,
    KINDS,
    NAVIGATIONAL,
    STYLESHEET,
    host_of_urlkey,
    is_of_site,
    present_kind,
)

_LOWEST_REDIRECT = 300
_MOST_FOLLOWED = 200
_MOST_HOPS = 5
_MOST_CAPTURES = 1_000


@dataclass(frozen=True, slots=True)
class LostTarget:
    """A redirect target without a successful capture; `status` is None without any capture."""

    url: str
    urlkey: str
    status: int | None


def is_redirect(status: int | None) -> bool:
    """Return whether the lowest status of a URL's captures is that of a redirect."""
    return status is not None and _LOWEST_REDIRECT <= status < LOWEST_ERROR


def lost_targets(
    engine: Engine, keys: Iterable[str], statuses: Mapping[str, int]
) -> dict[str, LostTarget]:
    """Return redirect targets without a successful capture, by the redirecting urlkeys.

    The first 200 of `keys` that only have redirects and errors, by their lowest `statuses`, are
    followed; the last redirect of each counts. Redirects to redirects are followed.
    """
    found: dict[str, LostTarget] = {}
    redirecting = (key for key in keys if is_redirect(statuses.get(key)))
    at = {key: key for key in islice(redirecting, _MOST_FOLLOWED)}
    for _ in range(_MOST_HOPS):
        led = {start: target for start, key in at.items() if (target := _target(engine, key))}
        statuses = engine.statuses([key for _, key in led.values()]) if led else {}
        at = {}
        for start, (url, key) in led.items():
            status = statuses.get(key)
            if is_redirect(status):
                at[start] = key
            elif status is None or status >= LOWEST_ERROR:
                found[start] = LostTarget(url, key, status)
    return found


def _target(engine: Engine, key: str) -> tuple[str, str] | None:
    """Return URL and urlkey of a URL's last redirect target, None if it has the same urlkey."""
    urls = [one.redirect_to for one in islice(engine.captures(key), _MOST_CAPTURES)]
    url = next(filter(None, reversed(urls)), "")
    try:
        target = urlkey(url) if is_browsed(url) else key
    except UrlError:
        return None
    return (url, target) if target != key else None


_LAST = "9" * 14
_AT_ONCE = 1_000
LOOKED_AHEAD = 5_000


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Pages of a host and its subdomains, in a collection and a span of timestamps.

    `since` and `until` are timestamps of 14 digits, both included. "" is any.
    """

    site: str = ""
    collection: str = ""
    since: str = ""
    until: str = ""

    def passing_documents(self, engine: Engine, table: InlinkTable) -> Array:
        """Return which documents of a build pass, as `bool[documents]`."""
        arrays = table.documents
        found = self._captured(engine, table)
        if self.site:
            hosts = np.array([is_of_site(host, self.site) for host in table.hosts.all()], bool)
            found &= hosts[arrays["host"]] if len(hosts) else False
        return found

    def _captured(self, engine: Engine, table: InlinkTable) -> Array:
        """Return which documents have a capture in the collection and the span."""
        arrays = table.documents
        size = len(arrays["cell_starts"]) - 1
        owners = np.repeat(np.arange(size), np.diff(arrays["cell_starts"]))
        wanted = np.array(
            [one.collection == self.collection and one.year is not None for one in table.cells],
            dtype=bool,
        )
        of_cell = wanted[arrays["cell_code"]]
        since, until = int(self.since or 0), int(self.until or _LAST)
        first, last = arrays["cell_first"], arrays["cell_last"]
        ends = of_cell & (
            ((first >= since) & (first <= until)) | ((last >= since) & (last <= until))
        )
        found = np.zeros(size, dtype=bool)
        found[owners[ends]] = True
        # If the dates of a year begin before the span and end after it, look them up.
        around = of_cell & (first < since) & (last > until)
        unsure = np.unique(owners[around])
        self._look_up(engine, table, unsure[~found[unsure]], found)
        return found

    def _look_up(self, engine: Engine, table: InlinkTable, numbers: Array, found: Array) -> None:
        ids = table.documents["id"]
        for begin in range(0, len(numbers), _AT_ONCE):
            by_id = {
                ids[number * ID_BYTES : (number + 1) * ID_BYTES].tobytes().hex(): number
                for number in numbers[begin : begin + _AT_ONCE].tolist()
            }
            for id, dates in engine.dates(list(by_id)).items():
                found[by_id[id]] = any(
                    self.since <= timestamp <= (self.until or _LAST)
                    and self.collection in ("", collection)
                    for timestamp, collection in dates.seen
                )


KIND_GROUPS = {"embedded": EMBEDDED, "pages": NAVIGATIONAL}
"""Names for groups of kinds: resources that a browser loads with a page, and linked pages."""


@dataclass(frozen=True, slots=True)
class MissingQuestion:
    """A question for missing URLs.

    `kinds` are the link kinds that count. `pages` selects the linking pages, `site` the host (with
    its subdomains) of the missing URLs; "" is any.
    """

    kinds: frozenset[str] = EMBEDDED | NAVIGATIONAL
    pages: PageFilter = field(default_factory=PageFilter)
    site: str = ""


@dataclass(frozen=True, slots=True)
class MissingUrl:
    """A URL that pages need, in the spelling of one of them.

    `kind` is the kind of most links to it, `pages` the number of pages that link to it or load a
    style sheet that does. `status` is the lowest of its captures, None if it was never captured.
    """

    url: str
    kind: str
    pages: int
    status: int | None


def missing_urls(
    engine: Engine, links: ArchiveLinks, question: MissingQuestion
) -> Iterator[MissingUrl]:
    """Yield the missing URLs, those needed by most pages first, ties by urlkey.

    A URL is missing if none of its captures, whatever their collection and date, has a status below
    LOWEST_ERROR. If they are redirects, the target is missing if the same holds for it; at most
    200 redirects are followed, among the LOOKED_AHEAD most needed URLs.
    """
    documents = question.pages.passing_documents(engine, links.table)
    needed = needed_urls(links.table, question.kinds, documents, question.site)
    targets = _missing_targets(engine, needed, question, documents)
    known = {key for _, key, _ in targets}
    rows = (row for row in _missing_rows(engine, needed) if row[1] not in known)
    return (missing for _, _, missing in heapq.merge(rows, targets))


_Row = tuple[int, str, MissingUrl]
"""A missing URL after its sort key: the negative number of pages, and the urlkey."""


def _missing_rows(engine: Engine, needed: NeededUrls) -> Iterator[_Row]:
    """Yield the needed URLs that are missing themselves, in their order."""
    kinds = needed.table.notes.kinds
    for places in batches(range(len(needed)), _AT_ONCE, MOST_SPELLED):
        some = needed.only(slice(places[0], places[-1] + 1))
        keys = some.keys()
        statuses = engine.statuses(keys)
        lacking = [statuses.get(key, LOWEST_ERROR) >= LOWEST_ERROR for key in keys]
        some = some.only(np.array(lacking, dtype=bool))
        keys = some.keys()
        spelled = spellings(engine, some.table, keys, some.document)
        for key, kind, pages in zip(keys, some.kind.tolist(), some.pages.tolist(), strict=True):
            # If a document was deleted since the inversion, nothing needs its links.
            if url := spelled.get(key):
                yield -pages, key, MissingUrl(url, kinds[kind], pages, statuses.get(key))


def _missing_targets(
    engine: Engine, needed: NeededUrls, question: MissingQuestion, documents: Array
) -> list[_Row]:
    """Return the missing redirect targets, in order; pages of all redirecting URLs count."""
    some = needed.only(slice(0, LOOKED_AHEAD))
    keys = some.keys()
    places = {key: place for place, key in enumerate(keys)}
    statuses: dict[str, int] = {}
    for begin in range(0, len(keys), _AT_ONCE):
        statuses.update(engine.statuses(keys[begin : begin + _AT_ONCE]))
    targets: dict[str, LostTarget] = {}
    leading: defaultdict[str, list[int]] = defaultdict(list)
    for key, target in lost_targets(engine, keys, statuses).items():
        if not question.site or is_of_site(host_of_urlkey(target.urlkey), question.site):
            targets[target.urlkey] = target
            leading[target.urlkey].append(places[key])
    for key in leading.keys() & places.keys():
        leading[key].append(places[key])
    pages = _pages_together(some, leading, question, documents)
    kinds = some.table.notes.kinds
    return sorted(
        (
            -pages[key],
            key,
            MissingUrl(one.url, kinds[some.kind[min(leading[key])]], pages[key], one.status),
        )
        for key, one in targets.items()
    )


def _pages_together(
    needed: NeededUrls,
    groups: Mapping[str, Sequence[int]],
    question: MissingQuestion,
    documents: Array,
) -> dict[str, int]:
    """Return the number of pages that need any URL of each group, given by index in `needed`."""
    pages = {name: int(needed.pages[group[0]]) for name, group in groups.items()}
    several = {name: group for name, group in groups.items() if len(group) > 1}
    places = np.unique(np.array([place for group in several.values() for place in group], int))
    sources: dict[int, Array] = {}
    if several:
        for at, source in needing_pages(needed.only(places), question.kinds, documents):
            for place in np.unique(at).tolist():
                sources[int(places[place])] = source[at == place]
    for name, group in several.items():
        pages[name] = len(np.unique(np.concatenate([sources[place] for place in group])))
    return pages


MOST_SPELLED = 64_000
"""The most urlkeys to get spellings of at once: each time documents with all links are read."""


def spellings(
    engine: Engine, table: InlinkTable, keys: Sequence[str], documents: Array
) -> dict[str, str]:
    """Return for each urlkey a URL as spelled in documents, which are given by number."""
    ids = table.documents["id"]
    numbers = np.unique(documents).tolist()
    wanted = set(keys)
    found: dict[str, str] = {}
    stored = [ids[number * ID_BYTES : (number + 1) * ID_BYTES].tobytes() for number in numbers]
    for document in engine.inlink_index().linking_documents(stored):
        for url in document.links:
            try:
                key = urlkey(url)
            except UrlError:
                continue
            if key in wanted:
                found[key] = min(found.get(key, url), url)
    return found


MOST_RESOURCES = 2_000
_MOST_SHEETS = 20


@dataclass(frozen=True, slots=True)
class MissingResource:
    """A resource without a successful capture; `status` is None without any capture."""

    url: str
    kind: str
    status: int | None


@dataclass(frozen=True, slots=True)
class PageResources:
    """The number of a page's distinct resources (by urlkey), and the missing ones in page order.

    Resources loaded by the page's captured style sheets are included. `is_cut` is true if there are
    more than MOST_RESOURCES; the rest was left out.
    """

    total: int
    missing: tuple[MissingResource, ...]
    is_cut: bool


def page_resources(engine: Engine, document: Document) -> PageResources:
    """Return the resources of a document, and which are missing."""
    own = dict(_embedded(document.extract.links))
    own.pop(document.capture.urlkey, None)
    wanted = dict(own)
    for sheet in _style_sheets(engine, document, own):
        for key, link in _embedded(sheet.extract.links):
            wanted.setdefault(key, link)
    keys = list(islice(wanted, MOST_RESOURCES))
    statuses = engine.statuses(keys)
    targets = lost_targets(engine, keys, statuses)
    missing: dict[str, MissingResource] = {}
    for key in keys:
        kind, target = present_kind(wanted[key].kind), targets.get(key)
        if target is not None:
            missing.setdefault(target.urlkey, MissingResource(target.url, kind, target.status))
        elif statuses.get(key, LOWEST_ERROR) >= LOWEST_ERROR:
            missing.setdefault(key, MissingResource(wanted[key].url, kind, statuses.get(key)))
    return PageResources(len(keys), tuple(missing.values()), len(wanted) > len(keys))


def _embedded(links: Iterable[Link]) -> Iterator[tuple[str, Link]]:
    return link_keys(link for link in links if present_kind(link.kind) in EMBEDDED)


def _style_sheets(engine: Engine, document: Document, links: dict[str, Link]) -> Iterator[Document]:
    """Yield the page's style sheets, each in the version captured closest to the page."""
    keys = [key for key, link in links.items() if link.kind == STYLESHEET][:_MOST_SHEETS]
    found = []
    for key in keys:
        captures = islice(engine.captures(key), _MOST_CAPTURES)
        close = min(
            (one for one in captures if one.document_id),
            key=lambda one: seconds_between(one.timestamp, document.capture.timestamp),
            default=None,
        )
        if close:
            found.append(close.document_id)
    yield from engine.documents(found).values()


def asked_missing(
    kinds: Iterable[str] = (), pages: PageFilter | None = None, host: str = ""
) -> MissingQuestion:
    """Return the question for links of some kinds or groups of kinds, by default all groups.

    Raises UsageError on an unknown kind.
    """
    wanted: set[str] = set()
    for name in tuple(kinds) or KIND_GROUPS:
        if name not in KIND_GROUPS and name not in KINDS:
            raise UsageError.translated(
                "there is no kind %(name)s; use one of %(choices)s",
                name=repr(name),
                choices=", ".join((*KIND_GROUPS, *KINDS)),
            )
        wanted |= KIND_GROUPS.get(name, {name})
    return MissingQuestion(frozenset(wanted), pages or PageFilter(), host)


def asked_pages(
    site: str = "", collection: str = "", date_from: DateOption = "", date_to: DateOption = ""
) -> PageFilter:
    """Return the page filter of options; raises UsageError on invalid dates."""
    return PageFilter(site, collection, *date_bounds(date_from, date_to))
