"""The resources a browser loaded for a page, from `pageinfo` records and HAR files.

The input is untrusted. HAR files also contain whole bodies, which are skipped without being
stored.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgspec

from nwx.errors import FormatError, TimestampError
from nwx.model import Comparison
from nwx.values.http import media_type
from nwx.values.timestamps import normal_timestamp

MOST_PAGE_RESOURCES = 20_000
"""Resources read of a page; the rest is ignored."""

_MOST_CHARACTERS = 256
_MOST_URL_CHARACTERS = 16_384
_PAGE = re.compile(r"https?://\S+", re.I)

_Parsed = TypeVar("_Parsed")


class PageResource(NamedTuple):
    """A resource requested by a browser; status 0 without a response.

    `type` is the browser's name for its purpose: document, image, xhr.
    """

    url: str
    status: int
    mime: str
    type: str


@dataclass(frozen=True, slots=True)
class PageInfo:
    """The resources loaded for a page, each URL once; `timestamp` is "" if unknown.

    `js_errors` counts script errors, None if they were not counted. `comparison` is from an earlier
    playback check.
    """

    url: str
    timestamp: str
    resources: tuple[PageResource, ...]
    js_errors: int | None = None
    comparison: Comparison | None = None


class _Value(msgspec.Struct):
    status: Any = None
    mime: Any = None
    type: Any = None


class _Counts(msgspec.Struct):
    js_errors: Any = msgspec.field(default=None, name="jsErrors")


class _ResourceCounts(msgspec.Struct, rename="camel"):
    crawl_good: Any = None
    crawl_bad: Any = None
    replay_good: Any = None
    replay_bad: Any = None


class _Comparison(msgspec.Struct, rename="camel"):
    screenshot_match: Any = None
    text_match: Any = None
    resource_counts: _ResourceCounts | None = None


class _PageInfo(msgspec.Struct):
    url: Any = None
    ts: Any = None
    urls: dict[str, _Value | None] = msgspec.field(default_factory=dict)
    counts: _Counts | None = None
    comparison: _Comparison | None = None


class _Content(msgspec.Struct):
    mime: Any = msgspec.field(default=None, name="mimeType")


class _Response(msgspec.Struct):
    status: Any = None
    content: _Content | None = None


class _Request(msgspec.Struct):
    url: Any = None


class _Entry(msgspec.Struct):
    request: _Request | None = None
    response: _Response | None = None
    type: Any = msgspec.field(default=None, name="_resourceType")


class _HarPage(msgspec.Struct):
    began: Any = msgspec.field(default=None, name="startedDateTime")
    title: Any = None


class _Log(msgspec.Struct):
    pages: list[_HarPage | None] | None = None
    entries: list[_Entry | None] | None = None


class _Har(msgspec.Struct):
    log: _Log


def page_info(payload: bytes) -> PageInfo:
    """Return the content of a `pageinfo` record.

    Raises FormatError on other JSON or invalid JSON.
    """
    found = _parsed(payload, _PageInfo, "page information")
    resources = (
        _resource(url, value.status, value.mime, value.type)
        for url, value in found.urls.items()
        if value
    )
    return PageInfo(
        url=_text(found.url, _MOST_URL_CHARACTERS),
        timestamp=_timestamp(found.ts),
        resources=_distinct(resources),
        js_errors=_count(found.counts.js_errors) if found.counts else None,
        comparison=_comparison(found.comparison) if found.comparison else None,
    )


def page_info_of_har(payload: bytes) -> PageInfo:
    """Return the page information of the first page of a HAR file.

    The URL is the first request's. Raises FormatError on other or invalid JSON.
    """
    log = _parsed(payload, _Har, "HAR").log
    page = next(filter(None, log.pages or ()), _HarPage())
    resources = _distinct(_har_resource(entry) for entry in log.entries or () if entry)
    title = _text(page.title, _MOST_URL_CHARACTERS)
    first = title if _PAGE.fullmatch(title) else ""
    return PageInfo(
        url=first or (resources[0].url if resources else ""),
        timestamp=_timestamp(page.began),
        resources=resources,
    )


def _har_resource(entry: _Entry) -> PageResource:
    response = entry.response or _Response()
    mime = response.content.mime if response.content else ""
    return _resource(entry.request.url if entry.request else "", response.status, mime, entry.type)


def _parsed(payload: bytes, form: Callable[..., _Parsed], name: str) -> _Parsed:
    try:
        found: _Parsed = msgspec.json.decode(payload, type=form)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"this is not a readable {name}: {error}"[:300]) from error
    return found


def _distinct(resources: Iterable[PageResource]) -> tuple[PageResource, ...]:
    """Return the last entry of each URL, in the order of first occurrence."""
    found: dict[str, PageResource] = {}
    for one in islice(resources, MOST_PAGE_RESOURCES):
        if one.url:
            found[one.url] = one
    return tuple(found.values())


def _resource(url: Any, status: Any, mime: Any, kind: Any) -> PageResource:
    return PageResource(
        _text(url, _MOST_URL_CHARACTERS),
        _count(status) or 0,
        media_type(_text(mime)),
        _text(kind),
    )


def _comparison(found: _Comparison) -> Comparison:
    counts = found.resource_counts or _ResourceCounts()
    return Comparison(
        screenshot=_share(found.screenshot_match),
        text=_share(found.text_match),
        crawl_good=_count(counts.crawl_good),
        crawl_bad=_count(counts.crawl_bad),
        replay_good=_count(counts.replay_good),
        replay_bad=_count(counts.replay_bad),
    )


def _text(value: Any, most: int = _MOST_CHARACTERS) -> str:
    return value[:most] if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 1 << 53 else None


def _share(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _timestamp(value: Any) -> str:
    try:
        return normal_timestamp(_text(value))
    except TimestampError:
        return ""
