"""Reading of pages and URL lists by the places of their records; search for unscored pages."""

import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, Self
from xml.parsers import expat

from nwx.captures import PagePlace, page_places
from nwx.engine.base import Engine, open_engine
from nwx.engine.capture_index import KeysAtTime
from nwx.errors import EngineError, SourceError, UrlError
from nwx.extract.charset import decode
from nwx.extract.links import Resolver
from nwx.extract.page_fields import evident_date
from nwx.extract.text import clean_line
from nwx.keys import capture_key, document_id
from nwx.model import Capture
from nwx.settings import Settings
from nwx.steering.analysis.page_view import (
    LIMITS,
    PageLink,
    PageView,
    page_view,
    page_view_of_document,
)
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.values import urls as kinds
from nwx.values.urlkeys import urlkey
from nwx.warc.reader import ArchiveReader, CaptureRecord, StoredPayload
from nwx.warc.sources import ArchiveSource, FilePlaces, is_present


@dataclass(frozen=True, slots=True)
class PageTask:
    """A page to analyse; `source` is the file with its record, None if unknown."""

    place: PagePlace
    source: ArchiveSource | None


def page_task(places: FilePlaces, place: PagePlace) -> PageTask:
    """Return a page with its file, if the ledger has the path."""
    path = places.path(place.collection, place.source_file)
    member = place.source_file.partition("#")[2]
    source = ArchiveSource(place.source_file, path, None, member) if path else None
    return PageTask(place, source)


class PageReader:
    """Reads pages from the file of the task, from its path in the ledger, or from the index."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine: Engine | None = None
        self._places: FilePlaces | None = None

    def page(self, task: PageTask) -> PageView:
        """Return a page; raises SourceError if it cannot be read from any of these."""
        place = task.place
        payload = _stored_payload(task) or self._payload_elsewhere(task)
        if payload is not None:
            return _view(payload, place, place.timestamp)
        document = self._opened().documents([place.document_id]).get(place.document_id)
        if document is None:
            raise SourceError("its record cannot be read, and the index does not have it")
        return page_view_of_document(document)

    def captured(self, page: PageView) -> set[str]:
        """Return the linked URLs of a page captured since their last known change."""
        keys = {link.url: _key(link.url) for link in page.links}
        held = self._opened().statuses(sorted(set(keys.values())))
        found = {url for url, key in keys.items() if key in held}
        dated = [link for link in page.links if link.changed and link.url in found][:_MOST_DATED]
        asked = [KeysAtTime((keys[link.url],), _NEWEST) for link in dated]
        newest = self._opened().captures_near(asked, 1) if asked else []
        return found - {
            link.url
            for link, captures in zip(dated, newest, strict=True)
            if captures and captures[0].timestamp < link.changed
        }

    def _payload_elsewhere(self, task: PageTask) -> StoredPayload | None:
        """Return the payload from the file's current path in the ledger, if that is another."""
        if self._places is None:
            self._places = FilePlaces(self._opened().files)
        now = page_task(self._places, task.place)
        is_known = now.source and task.source and now.source.path == task.source.path
        return None if is_known else _stored_payload(now)

    def _opened(self) -> Engine:
        if self._engine is None:
            self._engine = open_engine(self._settings, read_only=True)
        return self._engine

    def __enter__(self) -> Self:
        """Open the engine, so that this does not count as time of the first page."""
        with suppress(EngineError):  # each page tries again
            self._opened()
        return self

    def __exit__(self, *_: object) -> None:
        if self._engine is not None:
            self._engine.close()


def _key(url: str) -> str:
    """Return the urlkey of a URL, "" if it cannot have been captured."""
    try:
        return urlkey(url)
    except UrlError:
        return ""


def _view(payload: StoredPayload, place: PagePlace, timestamp: str) -> PageView:
    if place.is_list:
        return url_list_view(payload.data, place.url, timestamp)
    return page_view(payload.data, place.url, timestamp, payload.charset)


def _stored_payload(task: PageTask) -> StoredPayload | None:
    """Return the payload of the record at a place, None if it is missing or another.

    A payload stored in another file is not read.
    """
    place, source = task.place, task.source
    if source is None or not is_present(source.path):
        return None
    reader = ArchiveReader(source, place.collection, start=place.offset)
    for item in reader:
        if isinstance(item, CaptureRecord):
            capture = item.capture
            same = (capture.source_file_offset, capture.url) == (place.offset, place.url)
            return item.payload() if same and item.kept else None
    return None


_BATCH_PAGES, _BATCH_CAPTURES = 1_000, 10_000
_LAST_KEY = "\U0010ffff"
_NEWEST, _MOST_DATED = "99991231235959", 1_000


class PageBatch(NamedTuple):
    """Pages without scores, and the numbers of pages and captures examined to find them."""

    tasks: list[PageTask]
    pages: int
    captures: int


class PageSweeps:
    """Repeated sweeps over an archive; a request during a sweep starts one more after it.

    `begin` returns the pages from the start.
    """

    def __init__(self, begin: Callable[[], Iterator[PageBatch]]) -> None:
        self._begin = begin
        self._pages: Iterator[PageBatch] | None = None
        self._is_asked = False

    def ask(self) -> None:
        """Request a sweep over the archive."""
        self._is_asked = True

    @property
    def is_over(self) -> bool:
        """Whether no sweep is running or requested."""
        return self._pages is None and not self._is_asked

    def next_pages(self) -> list[PageTask]:
        """Return the next pages, possibly none."""
        if self._pages is None and self._is_asked:
            self._is_asked, self._pages = False, self._begin()
        batch = next(self._pages, None) if self._pages else None
        if batch is None:
            self._pages = None
        return batch.tasks if batch else []


def unanalysed_pages(
    engine: Engine, specification: CrawlSpecification, version: str
) -> Iterator[PageBatch]:
    """Yield the pages of an archive without scores of a version, at most 1,000 at a time.

    Batches are in the order of urlkeys, pages of a batch in the order of their places.
    """
    places = FilePlaces(engine.files)
    index = engine.crawl_index()
    start: str | None = ""
    while start is not None:
        batch, captures, start = _batch(engine, specification.collection, start)
        held = engine.known(batch)
        done = index.analysed(specification.name, version, held)
        missing = [batch[id] for id in held if id not in done]
        missing.sort(key=attrgetter("collection", "source_file", "offset"))
        yield PageBatch([page_task(places, page) for page in missing], len(batch), captures)


def _batch(
    engine: Engine, collection: str, start: str
) -> tuple[dict[str, PagePlace], int, str | None]:
    """Return pages from a urlkey on by document id, the captures read, and the next urlkey.

    All pages of a urlkey are in one batch; of several captures of a document the first counts. The
    archive is not read during the analysis of a batch, which may take long.
    """
    found: dict[str, PagePlace] = {}
    last, count = start, 0
    for capture in engine.captures(start, _LAST_KEY):
        is_full = len(found) >= _BATCH_PAGES or count >= _BATCH_CAPTURES
        if is_full and capture.urlkey != last:
            return found, count, capture.urlkey
        last, count = capture.urlkey, count + 1
        if not collection or capture.collection == collection:
            for page in page_places([capture], lists=True):
                found.setdefault(page.document_id, page)
    return found, count, None


@dataclass(slots=True)
class ReadCounts:
    """Numbers of pages read from records, read from the index, and unreadable."""

    records: int = 0
    index: int = 0
    unreadable: int = 0


class StoredPages:
    """Reads pages one by one; `counts` counts them by source."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._places = FilePlaces(engine.files)
        self.counts = ReadCounts()

    def view(self, capture: Capture, timestamp: str) -> PageView | None:
        """Return a page with the timestamp of its newest capture; None if it is unreadable."""
        place = next(page_places([capture], lists=True))
        payload = _stored_payload(page_task(self._places, place))
        if payload is not None:
            self.counts.records += 1
            return _view(payload, place, timestamp)
        ids = [capture.document_id, document_id(capture_key(capture))]
        for document in self._engine.documents(ids).values():
            self.counts.index += 1
            return page_view_of_document(document)
        self.counts.unreadable += 1
        return None


_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_URLS = frozenset({"loc", "link"})
_DATES = frozenset({"lastmod", "pubDate", "date", "updated", "publication_date"})
_FIELDS = dict.fromkeys(_URLS, "url") | dict.fromkeys(_DATES, "date") | {"title": "title"}
"""The field of an entry, by element name."""

_GZIP = b"\x1f\x8b"
_DEEPEST = 100
_LONGEST_FIELD = 2_000  # characters
_SITEMAP = re.compile(r"^\s*sitemap\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)


def url_list_view(data: bytes, url: str, timestamp: str) -> PageView:
    """Return a page without text whose links are the entries of a list; titles are anchors.

    A parse error ends the list. No input raises an error.
    """
    if data.startswith(_GZIP):
        data = _unpacked(data)
    resolver = Resolver(url)
    links = []
    if url.partition("?")[0].endswith("/robots.txt"):
        text = decode(data[: LIMITS.bytes])
        found = [(target, "sitemap", "") for target in _SITEMAP.findall(text)]
    else:
        found = _entries(data[: LIMITS.bytes])
    for reference, title, date in found[: LIMITS.links]:
        target = resolver.absolute(reference.strip())
        if target:
            changed = re.sub(r"\D", "", evident_date(date, timestamp)) if date else ""
            links.append(PageLink(target, clean_line(title), kinds.A, changed=changed))
    return PageView(url, timestamp, links=tuple(links))


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, LIMITS.bytes)
    except zlib.error:
        return b""


class _RefusedError(Exception):
    """Ends parsing: entity declarations, very deep nesting, or too many entries."""


def _leads_on(attributes: dict[str, str]) -> bool:
    return "href" in attributes and attributes.get("rel", "alternate") == "alternate"


def _field_of(path: list[str]) -> str:
    """Return the entry field of an element, "" if none."""
    name = path[-1] if path else ""
    if name in _URLS and not _ENTRIES.intersection(path[-2:-1]):
        return ""  # the URL of an image, for instance
    return _FIELDS.get(name, "")


def _entries(data: bytes) -> list[tuple[str, str, str]]:
    """Return URL, title and date of each entry in XML."""
    entries: list[tuple[str, str, str]] = []
    fields: dict[str, str] | None = None
    path: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal fields
        name = tag.rpartition(":")[2]
        path.append(name)
        if len(path) > _DEEPEST or len(entries) >= LIMITS.links:
            raise _RefusedError
        if name in _ENTRIES:
            fields = {}
        elif name == "link" and fields is not None and _leads_on(attributes):
            fields.setdefault("url", attributes["href"])

    def text(content: str) -> None:
        if fields is not None and (key := _field_of(path)):
            fields[key] = (fields.get(key, "") + content)[:_LONGEST_FIELD]

    def end(tag: str) -> None:
        nonlocal fields
        path.pop()
        if fields is not None and tag.rpartition(":")[2] in _ENTRIES:
            if fields.get("url", "").strip():
                date = fields.get("date", "").strip()
                entries.append((fields["url"], fields.get("title", ""), date))
            fields = None

    def refuse(*_: object) -> None:
        raise _RefusedError

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = text, refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, _RefusedError, LookupError, ValueError):
        return entries
    return entries
