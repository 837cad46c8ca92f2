"""The captures that pages load, nearest in time, followed recursively."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import NamedTuple
from urllib.parse import urljoin

from cachetools import LRUCache

from nwx.bulk.progress import batches
from nwx.captures import is_page
from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime, nearest_captures
from nwx.errors import FormatError, SourceError
from nwx.keys import capture_key, document_id, is_browsed
from nwx.links.archive_links import LOWEST_ERROR
from nwx.links.missing_urls import MOST_RESOURCES
from nwx.model import Capture
from nwx.pictures.measures import payload_at
from nwx.quality.page_information import page_info
from nwx.quality.stored_renders import (
    PageMoment,
    has_renders,
    read_render,
    renders_of_pages,
)
from nwx.values.render_names import RenderKind
from nwx.values.timestamps import seconds_between
from nwx.values.urlkeys import urlkey
from nwx.values.urls import EMBEDDED, REFRESH, present_kind
from nwx.warc.sources import FilePlaces

_PAGES_AT_ONCE = 20
_DEPTH = 8
_NEAR = 12
_LIKE = 50
_LOOKED_AT = 1_000
_PATHS_KEPT = 200
_DAY = 86_400
_SCRIPT_BYTES = 4 << 20
_REVISIT = "revisit"
_PAGE_TYPES = frozenset(("html", "", "other", "unknown"))
_LOADS_MORE = frozenset(("html", "style", "script"))
_LOADED = EMBEDDED | {REFRESH}
_PARTS = frozenset(("style", "script"))
"""Types of content that servers assemble by query, and of which scripts load more parts."""

_QUOTED = re.compile(
    rb"""["'`(]((?:https?:)?/{0,2}[^"'`()\s<>\\{}$]{1,500}?\.(?:m?js|css|json|png|jpe?g|gif|svg|webp"""
    rb"""|avif|ico|woff2?|ttf|otf|eot|mp4|webm|mp3|ogg|vtt|wasm|html?|xml|txt)"""
    rb"""(?:\?[^"'`()\s<>\\]{0,500})?)["'`)]""",
    re.I,
)


class _Loading(NamedTuple):
    """A capture that may load others, at the moment of the page that loads it."""

    capture: Capture
    moment: str
    page: str


class PageNeeds:
    """Finds the captures that pages need for playback as in their archive.

    These are the URLs that pages, frames and style sheets embed and scripts name, and those a
    browser loaded, if the crawl recorded them; redirects and refreshes are followed, and a revisit
    includes the capture with its payload. A script, style sheet or JSON with a query includes
    captures of the same path on the same day: scripts request such parts with generated queries.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._of_paths: LRUCache[str, list[Capture]] = LRUCache(_PATHS_KEPT)
        self._places = FilePlaces(engine.files)
        self._has_renders = has_renders(engine)

    def needed_captures(self, captures: Iterable[Capture]) -> Iterator[Capture]:
        """Yield the captures that some captures need, possibly repeated; only pages need any."""
        for some in batches(filter(_may_be_page, captures), _PAGES_AT_ONCE):
            yield from self._of_some(some)

    def _of_some(self, pages: Sequence[Capture]) -> Iterator[Capture]:
        loading = [_Loading(page, page.timestamp, page.url) for page in pages]
        known = {(one.capture.urlkey, one.moment) for one in loading}
        listed = self._listed(pages) if self._has_renders else {}
        for _ in range(_DEPTH):
            asked = {}
            for one, urls in self._needs(loading):
                urls = [*urls, *listed.pop((one.capture.url, one.moment), ())]
                for key in _keys(urls):
                    if (key, one.moment) not in known:
                        known.add((key, one.moment))
                        asked[key, one.moment] = one.page
            if not asked:
                return
            loading = []
            for (key, moment), near in self._near(list(asked)):
                for capture in chain(self._played(near), self._parts(near, moment)):
                    yield capture
                    loading.append(_Loading(capture, moment, asked[key, moment]))

    def _needs(self, loading: Sequence[_Loading]) -> Iterator[tuple[_Loading, list[str]]]:
        """Yield captures with the URLs that they load or redirect to."""
        ids = {id for one in loading for id in _document_ids(one.capture)}
        documents = self._engine.documents(list(ids))
        for one in loading:
            capture = one.capture
            urls = [urljoin(capture.url, capture.redirect_to)] if capture.redirect_to else []
            if capture.content_type_norm in _LOADS_MORE or capture.record_type == _REVISIT:
                for id in _document_ids(capture):
                    if id in documents:
                        links = documents[id].extract.links
                        urls += [one.url for one in links if present_kind(one.kind) in _LOADED]
                urls += self._named(one)
            yield one, urls[:MOST_RESOURCES]

    def _named(self, one: _Loading) -> list[str]:
        """Return the quoted URLs in a page or script, absolute to it and to its page."""
        capture = one.capture
        path = self._places.path(capture.collection, capture.source_file)
        if path is None or capture.record_type == _REVISIT:
            return []
        try:
            data = payload_at(path, capture, _SCRIPT_BYTES).data
        except (FormatError, SourceError):
            return []
        found = dict.fromkeys(match.decode("utf-8", "replace") for match in _QUOTED.findall(data))
        bases = dict.fromkeys((capture.url, one.page))
        named = []
        for text in islice(found, MOST_RESOURCES):
            for base in bases:
                with suppress(ValueError):
                    named.append(urljoin(base, text))
        return named

    def _listed(self, pages: Sequence[Capture]) -> dict[tuple[str, str], list[str]]:
        """Return the URLs that browsers loaded with pages in the crawl, by URL and timestamp."""
        moments = [PageMoment(page.url, page.timestamp) for page in pages]
        found: dict[tuple[str, str], list[str]] = {}
        renders = renders_of_pages(self._engine, moments, (RenderKind.PAGEINFO,))
        for moment, some in zip(moments, renders, strict=True):
            for _, capture in some[:1]:
                with suppress(FormatError, SourceError):
                    told = page_info(read_render(self._places, capture).payload)
                    found[moment.url, moment.timestamp] = [one.url for one in told.resources]
        return found

    def _near(
        self, asked: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[tuple[str, str], list[Capture]]]:
        """Yield the captures of urlkeys nearest to moments, or of similar urlkeys if none exist."""
        questions = [KeysAtTime((key,), moment) for key, moment in asked]
        answers = self._engine.captures_near(questions, _NEAR)
        for (key, moment), near in zip(asked, answers, strict=True):
            yield (key, moment), near or self._like(key, moment)

    def _like(self, key: str, moment: str) -> list[Capture]:
        """Return captures that differ in the query only: playback falls back to these."""
        return nearest_captures(self._of_path(key), moment, _NEAR)

    def _of_path(self, key: str) -> list[Capture]:
        """Return the captures with the urlkey's path, with any query or none."""
        start = key.partition("?")[0]
        if start not in self._of_paths:
            alike = self._engine.captures(f"{start}?", f"{start}@")
            found = chain(self._engine.captures(start), alike)
            self._of_paths[start] = list(islice(found, _LOOKED_AT))
        return self._of_paths[start]

    def _parts(self, near: Sequence[Capture], moment: str) -> Iterator[Capture]:
        """Yield captures of the same path and day as a script, style sheet or JSON with a query."""
        if not near or near[0].content_type_norm not in _PARTS or "?" not in near[0].urlkey:
            return
        for one in nearest_captures(self._of_path(near[0].urlkey), moment, _LIKE):
            if seconds_between(one.timestamp, moment) <= _DAY:
                yield from self._played((one,))

    def _played(self, near: Sequence[Capture]) -> Iterator[Capture]:
        """Yield the nearest and the nearest successful capture, with originals of revisits."""
        good = (one for one in near if (one.status_code or 0) < LOWEST_ERROR)
        first, best = near[:1], list(islice(good, 1))
        for capture in dict.fromkeys((*first, *best)):
            yield capture
            if capture.record_type == _REVISIT:
                yield from islice(self._engine.originals_of(capture), 1)


def _may_be_page(capture: Capture) -> bool:
    """Return whether a capture may be a page; not every crawl records a revisit's type."""
    is_revisit = capture.record_type == _REVISIT and capture.document_id
    return is_page(capture) or bool(is_revisit and capture.content_type_norm in _PAGE_TYPES)


def _document_ids(capture: Capture) -> tuple[str, ...]:
    """Return the ids that the document of a capture may have."""
    if not capture.document_id:
        return ()
    return capture.document_id, document_id(capture_key(capture))


def _keys(urls: Iterable[str]) -> Iterator[str]:
    for url in dict.fromkeys(urls):
        if is_browsed(url):
            with suppress(FormatError):
                yield urlkey(url)
