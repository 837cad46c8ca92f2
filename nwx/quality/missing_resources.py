"""Missing resources of pages, found by playback checks and by links."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nwx.bulk.arrays import Array, is_new
from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import Fault, PlaybackScore, QualityFilter
from nwx.engine.inlinks.table import InlinkTable
from nwx.errors import UrlError, UsageError
from nwx.links.archive_links import LOWEST_ERROR
from nwx.links.missing_urls import (
    LOOKED_AHEAD,
    LostTarget,
    PageFilter,
    asked_missing,
    lost_targets,
)
from nwx.links.needed_urls import NeededUrls, needed_urls, needing_pages
from nwx.quality.missing_originals import wanted_by_keys
from nwx.values import media_types, urls
from nwx.values.render_names import FaultKind
from nwx.values.urlkeys import urlkey
from nwx.values.urls import EMBEDDED, host_of_urlkey, is_of_site


@dataclass(frozen=True, slots=True)
class RepairQuestion:
    """Which pages to repair, and by which resources.

    `pages` selects the pages, as in `nwx missing`. `kinds` selects the kinds of resources
    (`nwx.values.urls`), and `host` their host, with its subdomains; "" is any.
    """

    pages: PageFilter = field(default_factory=PageFilter)
    kinds: frozenset[str] = EMBEDDED
    host: str = ""


RESOURCE_KINDS = tuple(kind for kind in urls.KINDS if kind in EMBEDDED)
"""The kinds of links to resources, which browsers load with a page."""


def asked_repairs(kinds: Iterable[str], pages: PageFilter, host: str = "") -> RepairQuestion:
    """Return the question for some options; without `kinds` it is about all resources.

    Raises UsageError if none of the kinds is loaded by browsers.
    """
    wanted = asked_missing(kinds).kinds & EMBEDDED
    if not wanted:
        raise UsageError.translated(
            "kind is not that of a resource; choose one of %(choices)s",
            choices=", ".join(RESOURCE_KINDS),
        )
    return RepairQuestion(pages, wanted, host)


_OF_FAMILY: Mapping[str, str] = {
    media_types.IMAGE: urls.IMG,
    media_types.SCRIPT: urls.SCRIPT,
    media_types.STYLE: urls.STYLESHEET,
    media_types.AUDIO: urls.MEDIA,
    media_types.VIDEO: urls.MEDIA,
    media_types.FLASH: urls.MEDIA,
    media_types.HTML: urls.FRAME,
}
_FONTS = (".woff", ".woff2", ".ttf", ".otf", ".eot")


def kind_of_resource(fault: Fault) -> str:
    """Return the kind of a fault's resource by the ending of its URL, "" if ambiguous.

    A font is loaded by a style sheet: its kind is `css`.
    """
    path = fault.resource.partition("?")[0].partition("#")[0].lower()
    if path.endswith(_FONTS):
        return urls.CSS
    return _OF_FAMILY.get(media_types.normal_type("", fault.resource), "")


_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class MissingPairs:
    """Pairs of a page and a resource that it lacks, by number, each pair once.

    `page` and `resource` are equally long, in the order of both. `resources` is the number of
    resources. `beyond` counts for each page the missing resources in no pair: without these it
    stays broken.
    """

    resources: int
    page: Array
    resource: Array
    beyond: Array

    def pages_by_resource(self) -> Array:
        """Return how many pages lack each resource."""
        return np.bincount(self.resource, minlength=self.resources)

    def broken_pages(self) -> int:
        """Return how many pages lack something."""
        lacking = self.beyond > 0
        lacking[self.page] = True
        return int(np.count_nonzero(lacking))

    def in_order(self, order: Array) -> "MissingPairs":
        """Return the same with resources numbered by their places in `order`."""
        numbers = np.zeros(self.resources, dtype=np.int64)
        numbers[order] = np.arange(self.resources)
        return missing_pairs(self.page, numbers[self.resource], self.resources, self.beyond)


def missing_pairs(page: Array, resource: Array, resources: int, beyond: Array) -> MissingPairs:
    """Return sorted pairs without duplicates."""
    # Not by numpy.unique, which takes twenty times as long for millions.
    keys = page.astype(np.uint64) << _HALF | resource.astype(np.uint64)
    keys.sort()
    keys = keys[is_new(keys)]
    pages = (keys >> _HALF).astype(np.int32)
    return MissingPairs(resources, pages, keys.astype(np.uint32).astype(np.int32), beyond)


_FETCHED = ("http://", "https://")
_LAST = "9" * 14
_SCORES_AT_ONCE = 500
_LACKING = frozenset({FaultKind.MISSING, FaultKind.ORIGINAL, FaultKind.FAILED})
"""Faults of pages that are repaired by capturing their resource again."""


@dataclass(slots=True)
class CheckedResource:
    """A resource missing in checks: a spelling of its URL ("" if unknown), its kind.

    `status` is the lowest of its captures, None without captures. `original` is the missing
    original of its captures if all are revisits.
    """

    url: str
    kind: str
    status: int | None
    original: str = ""


@dataclass(slots=True)
class CheckedMissing:
    """Missing resources of checked pages: both by urlkey, numbered, and their pairs.

    `beyond` counts by page the pairs that were `left_out`. `checked` is the number of captures
    checked.
    """

    pages: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    resources: list[CheckedResource] = field(default_factory=list)
    page: "array[int]" = field(default_factory=lambda: array("i"))
    resource: "array[int]" = field(default_factory=lambda: array("i"))
    beyond: dict[int, int] = field(default_factory=dict)
    checked: int = 0
    left_out: int = 0


def checked_missing(engine: Engine, question: RepairQuestion, most_pairs: int) -> CheckedMissing:
    """Return resources that checked pages lack and the archive has not captured since.

    Captures of one page are merged: the page lacks whatever any of them lacks. Resources of other
    kinds, or on other hosts, than asked for are ignored.
    """
    found = CheckedMissing()
    for scores in batches(_asked(engine, question), _SCORES_AT_ONCE):
        wanted = {score.id: _lacking(score, question) for score in scores}
        keys = sorted({key for missing in wanted.values() for key in missing})
        statuses = engine.statuses(keys)
        targets = lost_targets(engine, keys, statuses)
        lone = {key for each in wanted.values() for key, one in each.items() if one.original}
        originals = wanted_by_keys(engine, sorted(lone))
        for score in scores:
            found.checked += 1
            for key, one in wanted[score.id].items():
                one.status, one.original = statuses.get(key), str(originals.get(key, ""))
                if target := targets.get(key):
                    key, one = target.urlkey, CheckedResource(target.url, one.kind, target.status)
                is_missing = one.status is None or one.status >= LOWEST_ERROR
                if (is_missing or one.original) and _is_on_host(key, question):
                    _add(found, score.urlkey, key, one, most_pairs)
    return found


def _asked(engine: Engine, question: RepairQuestion) -> Iterator[PlaybackScore]:
    pages = question.pages
    for score in engine.quality_index().scan(QualityFilter(collection=pages.collection)):
        in_time = pages.since <= score.timestamp <= (pages.until or _LAST)
        if in_time and (not pages.site or is_of_site(score.host, pages.site)):
            yield score


def _lacking(score: PlaybackScore, question: RepairQuestion) -> dict[str, CheckedResource]:
    """Return the missing resources of a page by urlkey, the page itself if it lacks an original."""
    found: dict[str, CheckedResource] = {}
    for fault in score.faults:
        if fault.kind not in _LACKING or not fault.resource.lower().startswith(_FETCHED):
            continue
        try:
            key = urlkey(fault.resource)
        except UrlError:
            continue
        original = fault.detail if fault.kind == FaultKind.ORIGINAL else ""
        kind = kind_of_resource(fault)
        found.setdefault(key, CheckedResource(fault.resource, kind, None, original))
    for key in score.resources:
        if key:
            found.setdefault(key, CheckedResource("", "", None))
    return {
        key: one
        for key, one in found.items()
        if (key != score.urlkey or one.original)
        and _is_wanted(one.kind, question)
        and _is_on_host(key, question)
    }


def _is_on_host(key: str, question: RepairQuestion) -> bool:
    return not question.host or is_of_site(host_of_urlkey(key), question.host)


def _is_wanted(kind: str, question: RepairQuestion) -> bool:
    """Return whether a kind is selected; an unknown one is if all kinds are."""
    return kind in question.kinds or (not kind and question.kinds >= EMBEDDED)


def _add(found: CheckedMissing, page: str, key: str, one: CheckedResource, most_pairs: int) -> None:
    page_number = found.pages.setdefault(page, len(found.pages))
    if len(found.page) >= most_pairs:
        found.beyond[page_number] = found.beyond.get(page_number, 0) + 1
        found.left_out += 1
        return
    number = found.numbers.setdefault(key, len(found.numbers))
    if number == len(found.resources):
        found.resources.append(one)
    known = found.resources[number]
    known.original = known.original or one.original
    if one.url:
        known.url = min(known.url or one.url, one.url)
        known.kind = known.kind or one.kind
    found.page.append(page_number)
    found.resource.append(number)


NEVER_CAPTURED = -1
"""The status of a resource without captures."""

_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class RepairLimits:
    """Limits of memory use.

    At most `looked_up` needed URLs are looked up, the ones that most pages need first. At most
    `pairs` pairs of a resource and a page are held.
    """

    looked_up: int = 2_000_000
    pairs: int = 10_000_000


@dataclass(frozen=True, slots=True)
class RedirectedMissing:
    """The missing target of a redirecting resource, its kind, and the numbers of linking URLs."""

    target: LostTarget
    kind: str
    page: Array


@dataclass(frozen=True, slots=True)
class LinkedMissing:
    """Missing resources and the pages that link to them, in pairs.

    `needed` are the resources, most needed first, and `status` the lowest of their captures or
    NEVER_CAPTURED. `resource` and `page` are pairs of an index in these and the number of a linking
    URL. `beyond` has for each linking URL how many more it lacks, `left_out` resources in total.
    `unseen` needed URLs were not looked up. `redirected` are missing targets of captured redirects.
    """

    needed: NeededUrls
    status: Array
    resource: Array
    page: Array
    redirected: Sequence[RedirectedMissing]
    beyond: Array
    left_out: int
    unseen: int


def linked_missing(
    engine: Engine, table: InlinkTable, question: RepairQuestion, limits: RepairLimits
) -> LinkedMissing:
    """Return the missing resources linked from a question's pages and their style sheets."""
    documents = question.pages.passing_documents(engine, table)
    all_needed = needed_urls(table, question.kinds, documents, question.host)
    looked_up = all_needed.only(slice(0, limits.looked_up))
    places, status, lost = _missing(engine, looked_up)
    missing = looked_up.only(places)
    held = int(np.searchsorted(np.cumsum(missing.pages), limits.pairs, side="right"))
    pairs: list[tuple[Array, Array]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    beyond = np.zeros(len(table.sources), dtype=np.int32)
    for resource, page in needing_pages(missing, question.kinds, documents):
        inside = resource < held
        pairs.append((resource[inside], page[inside]))
        beyond += np.bincount(page[~inside], minlength=len(beyond)).astype(np.int32)
    resource, page = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return LinkedMissing(
        missing.only(slice(0, held)),
        status[:held],
        resource,
        page,
        _redirected(looked_up, lost, question, documents),
        beyond,
        left_out=len(missing) - held,
        unseen=len(all_needed) - len(looked_up),
    )


def _missing(engine: Engine, needed: NeededUrls) -> tuple[Array, Array, Mapping[int, LostTarget]]:
    """Return the indexes of the missing URLs, their statuses, and missing targets of redirects.

    Targets are by the index of the redirecting URL.
    """
    places: list[int] = []
    found: list[int] = []
    lost: dict[int, LostTarget] = {}
    for begin in range(0, len(needed), _AT_ONCE):
        keys = needed.only(slice(begin, begin + _AT_ONCE)).keys()
        statuses = engine.statuses(keys)
        for place, key in enumerate(keys, start=begin):
            status = statuses.get(key, NEVER_CAPTURED)
            if status == NEVER_CAPTURED or status >= LOWEST_ERROR:
                places.append(place)
                found.append(status)
        if begin < LOOKED_AHEAD:
            targets = lost_targets(engine, keys, statuses)
            lost |= {begin + keys.index(key): target for key, target in targets.items()}
    return np.array(places, dtype=np.int64), np.array(found, dtype=np.int16), lost


def _redirected(
    needed: NeededUrls, lost: Mapping[int, LostTarget], question: RepairQuestion, documents: Array
) -> Sequence[RedirectedMissing]:
    """Return missing targets with the pages that need the redirecting URLs, keys of `lost`."""
    places = sorted(place for place, target in lost.items() if _is_on_host(target.urlkey, question))
    kinds, found = needed.table.notes.kinds, []
    some = needed.only(np.array(places, dtype=np.int64))
    for resource, page in needing_pages(some, question.kinds, documents):
        for number in np.unique(resource).tolist():
            place = places[number]
            pages = page[resource == number]
            kind = kinds[int(needed.kind[place])]
            found.append(RedirectedMissing(lost[place], kind, pages))
    return found


def number_redirected(checks: CheckedMissing, linked: LinkedMissing | None) -> tuple[Array, Array]:
    """Add the targets of redirects to the resources of checks; return pages and targets."""
    pages, resources = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for one in linked.redirected if linked else ():
        number = checks.numbers.setdefault(one.target.urlkey, len(checks.numbers))
        if number == len(checks.resources):
            checks.resources.append(CheckedResource(one.target.url, one.kind, one.target.status))
        checks.resources[number].url = checks.resources[number].url or one.target.url
        pages.append(one.page)
        resources.append(np.full(len(one.page), number))
    return np.concatenate(pages), np.concatenate(resources)
