"""What pages lack as checks of their playback found it."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from nwx.engine.base import Engine
from nwx.engine.quality.quality_index import PlaybackScore, QualityFilter
from nwx.errors import UrlError
from nwx.links.missing_urls import is_of_site
from nwx.links.redirects import LOWEST_ERROR
from nwx.quality.repairs.repair_question import RepairQuestion
from nwx.quality.repairs.resource_kinds import kind_of_resource
from nwx.values.fault_kinds import FaultKind
from nwx.values.links import EMBEDDED, host_of_urlkey
from nwx.values.urlkeys import urlkey

_FETCHED = ("http://", "https://")
_LAST = "9" * 14
_AT_ONCE = 500
_LACKING = frozenset({FaultKind.MISSING, FaultKind.FAILED})
"""Faults of pages that capturing their resource again mends."""


@dataclass(slots=True)
class CheckedResource:
    """A resource that checks missed: a spelling of its URL ("" where none is known), its kind.

    `status` is the lowest of its captures, None where there is none.
    """

    url: str
    kind: str
    status: int | None


@dataclass(slots=True)
class CheckLacks:
    """What checked pages lack: pages and resources by their urlkeys, numbered, and pairs of these.

    `beyond` counts for some pages what else they lack, in pairs that were
    `left_out`. `checked` captures were looked at.
    """

    pages: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    resources: list[CheckedResource] = field(default_factory=list)
    page: "array[int]" = field(default_factory=lambda: array("i"))
    resource: "array[int]" = field(default_factory=lambda: array("i"))
    beyond: dict[int, int] = field(default_factory=dict)
    checked: int = 0
    left_out: int = 0


def check_lacks(engine: Engine, question: RepairQuestion, most_pairs: int) -> CheckLacks:
    """Return what checked pages of a question lack and the archive has not captured since.

    Captures of one page are one: what any of them lacks, the page lacks.
    Resources of other kinds, or on other hosts, than those asked for are
    left out altogether.
    """
    found, asked = CheckLacks(), _asked(engine, question)
    while scores := list(islice(asked, _AT_ONCE)):
        wanted = {score.id: _lacking(score, question) for score in scores}
        keys = sorted({key for missing in wanted.values() for key in missing})
        statuses = engine.statuses(keys)
        for score in scores:
            found.checked += 1
            for key, one in wanted[score.id].items():
                one.status = statuses.get(key)
                if one.status is None or one.status >= LOWEST_ERROR:
                    _add(found, score.urlkey, key, one, most_pairs)
    return found


def _asked(engine: Engine, question: RepairQuestion) -> Iterator[PlaybackScore]:
    pages = question.pages
    for score in engine.quality_index().scan(QualityFilter(collection=pages.collection)):
        in_time = pages.since <= score.timestamp <= (pages.until or _LAST)
        if in_time and (not pages.site or is_of_site(score.host, pages.site)):
            yield score


def _lacking(score: PlaybackScore, question: RepairQuestion) -> dict[str, CheckedResource]:
    """Return the missing resources of a page by urlkey; the page itself is none."""
    found: dict[str, CheckedResource] = {}
    for fault in score.faults:
        if fault.kind not in _LACKING or not fault.resource.lower().startswith(_FETCHED):
            continue
        try:
            key = urlkey(fault.resource)
        except UrlError:
            continue
        found.setdefault(key, CheckedResource(fault.resource, kind_of_resource(fault), None))
    for key in score.resources:
        if key:
            found.setdefault(key, CheckedResource("", "", None))
    return {
        key: one
        for key, one in found.items()
        if key != score.urlkey
        and _is_wanted(one.kind, question)
        and (not question.host or is_of_site(host_of_urlkey(key), question.host))
    }


def _is_wanted(kind: str, question: RepairQuestion) -> bool:
    """Return whether a kind is asked for; one that is not known is where all are."""
    return kind in question.kinds or (not kind and question.kinds >= EMBEDDED)


def _add(found: CheckLacks, page: str, key: str, one: CheckedResource, most_pairs: int) -> None:
    page_number = found.pages.setdefault(page, len(found.pages))
    if len(found.page) >= most_pairs:
        found.beyond[page_number] = found.beyond.get(page_number, 0) + 1
        found.left_out += 1
        return
    number = found.numbers.setdefault(key, len(found.numbers))
    if number == len(found.resources):
        found.resources.append(one)
    known = found.resources[number]
    if one.url:
        known.url = min(known.url or one.url, one.url)
        known.kind = known.kind or one.kind
    found.page.append(page_number)
    found.resource.append(number)
