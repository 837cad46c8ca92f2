"""The choice of pages to render or check: listed in a file, found by a query, or all."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappush, heappushpop
from itertools import islice
from tempfile import TemporaryFile
from typing import BinaryIO

from nwx.engine.base import Engine
from nwx.engine.document_index import DocumentIndex
from nwx.engine.indices.quality_index import PlaybackScore, QualityFilter
from nwx.errors import UrlError
from nwx.keys import id_of_capture, is_browsed
from nwx.model import Capture, Collapse
from nwx.quality.browser.targets import RenderTask
from nwx.quality.faults import ERROR_ONLY, resource_key
from nwx.quality.measures import FIRST_BAD
from nwx.quality.missing_originals import wanted_by_keys
from nwx.quality.scores import CaptureMark, marked_captures
from nwx.quality.stored_renders import RenderedPage
from nwx.query.question import Question
from nwx.values.render_names import FaultKind
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url

PAGE_TYPE = "html"

_SUCCESS = range(200, 300)
_LAST_KEY = "\U0010ffff"
_BATCH_PAGES, _BATCH_CAPTURES = 500, 10_000

_Note = Callable[[str], object]

_MOST_PROBLEMS = 20
PAGE_FILTERS = {"type": ("html",), "status": ("200",)}
"""The filters of documents that are pages."""

_SCHEMES = ("http://", "https://")
_LONGEST_LINE = 1 << 16
_TIMESTAMP_DIGITS = 14


@dataclass(frozen=True, slots=True)
class PageChoice:
    """Pages by query and by URLs, all pages without either; the newest capture of each.

    `collection` limits the captures to one collection. `every_capture` includes earlier captures.
    `sample` takes a random sample of this size, the same each time; `limit` takes the first pages.
    0 is no limit.
    """

    query: str = ""
    urls: tuple[str, ...] | None = None
    collection: str = ""
    every_capture: bool = False
    sample: int = 0
    limit: int = 0


def chosen_pages(
    engine: Engine, choice: PageChoice, note: _Note = lambda message: None
) -> Iterator[Capture]:
    """Yield the captures of the chosen pages, in the order of urlkeys.

    The archive is read in batches, and not kept open between them. `note` is called for URLs that
    are invalid or not captured as pages. Raises QueryError.
    """
    pages = _pages(engine, choice, note)
    if choice.sample:
        pages = iter(sampled(pages, choice.sample))
    return islice(pages, choice.limit) if choice.limit else pages


def is_played_page(capture: Capture) -> bool:
    """Return whether a capture is a successful HTML page, or a revisit of one."""
    return (
        capture.content_type_norm == PAGE_TYPE
        and (capture.status_code is None or capture.status_code in _SUCCESS)
        and capture.method == "GET"
        and is_browsed(capture.url)
    )


def sampled(pages: Iterable[Capture], number: int) -> list[Capture]:
    """Return a random sample of pages: the lowest hashes of their ids, in their order."""
    kept: list[tuple[int, int, Capture]] = []
    for place, page in enumerate(pages):
        id = id_of_capture(page)
        entry = (-chance_of(id), -place, page)
        if len(kept) < number:
            heappush(kept, entry)
        else:
            heappushpop(kept, entry)
    return [page for _, _, page in sorted(kept, key=lambda entry: -entry[1])]


def chance_of(id: str) -> int:
    """Return a pseudorandom number below 2**64 that is always the same for a capture's id."""
    digest = hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _pages(engine: Engine, choice: PageChoice, note: _Note) -> Iterator[Capture]:
    if not choice.query and choice.urls is None:
        yield from _all(engine, choice)
        return
    listed = dict(_keys_of_urls(choice.urls or (), note))
    keys = set(_keys_of_query(engine, choice)) if choice.query else set()
    for key in sorted(keys.union(listed)):
        found = _of_url(engine.captures(key), choice)
        if not found and key in listed:
            note(f"{listed[key]}: the archive has no such page")
        yield from found


def _all(engine: Engine, choice: PageChoice) -> Iterator[Capture]:
    start: str | None = ""
    while start is not None:
        found, start = _batch(engine, choice, start)
        yield from found


def _batch(engine: Engine, choice: PageChoice, start: str) -> tuple[list[Capture], str | None]:
    """Return pages from a urlkey on, and the next urlkey; all of a urlkey are in one batch."""
    found: list[Capture] = []
    of_url: list[Capture] = []
    for count, capture in enumerate(engine.captures(start, _LAST_KEY)):
        if of_url and of_url[0].urlkey != capture.urlkey:
            found += _of_url(of_url, choice)
            of_url = []
            if len(found) >= _BATCH_PAGES or count >= _BATCH_CAPTURES:
                return found, capture.urlkey
        if is_played_page(capture):
            of_url.append(capture)
    return found + _of_url(of_url, choice), None


def _of_url(captures: Iterable[Capture], choice: PageChoice) -> list[Capture]:
    """Return the chosen pages among the captures of a URL."""
    found = [
        capture
        for capture in captures
        if is_played_page(capture) and choice.collection in ("", capture.collection)
    ]
    return found if choice.every_capture else found[-1:]


def _keys_of_query(engine: Engine, choice: PageChoice) -> Iterator[str]:
    filters = {"type": (PAGE_TYPE,)}
    if choice.collection:
        filters["collection"] = (choice.collection,)
    question = Question(query=choice.query, filters=filters, collapse=Collapse.NONE, snippets=False)
    for hit in engine.scroll(question):
        yield urlkey(hit.url)


def _keys_of_urls(urls: Iterable[str], note: _Note) -> Iterator[tuple[str, str]]:
    """Yield the urlkey of each valid URL with the URL."""
    for url in urls:
        try:
            yield urlkey(url), url
        except UrlError as error:
            note(str(error))


_BATCH_KEYS, _BATCH_SCORES = 1_000, 200


def repaired_pages(engine: Engine, collection: str = "") -> set[str]:
    """Return the ids of checked captures that may play better now.

    The archive now has a successful capture of a resource that was missing or archived only with
    errors.
    """
    return {score.id for score in _repaired(engine, collection)}


def repaired_captures(engine: Engine) -> list[Capture]:
    """Return the captures that may play better now, of all collections."""
    repaired = _repaired(engine, "")
    marks = {CaptureMark(score.id, score.urlkey, score.timestamp) for score in repaired}
    return list(marked_captures(engine, sorted(marks)).values())


def _repaired(engine: Engine, collection: str) -> Iterator[PlaybackScore]:
    """Yield the scores of such captures, once for each repaired kind of fault."""
    for batch in _batches(engine, collection):
        statuses = engine.statuses(sorted({key for _, lacking in batch for key in lacking}))
        there = {key for key, status in statuses.items() if status < FIRST_BAD}
        yield from (score for score, lacking in batch if not there.isdisjoint(lacking))


def _batches(
    engine: Engine, collection: str
) -> Iterator[list[tuple[PlaybackScore, Collection[str]]]]:
    """Yield scores, each with the urlkeys of resources that its page lacked."""
    batch: list[tuple[PlaybackScore, Collection[str]]] = []
    keys = 0
    lacking: Collection[str]
    for kind in (FaultKind.MISSING, FaultKind.ORIGINAL, FaultKind.FAILED):
        for score in engine.quality_index().scan(QualityFilter(collection=collection, kind=kind)):
            if kind is FaultKind.ORIGINAL:
                lacking = _found_originals(engine, score)
            else:
                lacking = score.resources if kind is FaultKind.MISSING else _errors(score)
            batch.append((score, lacking))
            keys += len(lacking)
            if keys >= _BATCH_KEYS or len(batch) >= _BATCH_SCORES:
                yield batch
                batch, keys = [], 0
    if batch:
        yield batch


def _found_originals(engine: Engine, score: PlaybackScore) -> set[str]:
    """Return the urlkeys of resources that lacked their originals and can play now."""
    faults = (fault for fault in score.faults if fault.kind == FaultKind.ORIGINAL)
    keys = {key for fault in faults if (key := resource_key(fault.resource))}
    return keys - wanted_by_keys(engine, keys).keys()


def _errors(score: PlaybackScore) -> set[str]:
    """Return the urlkeys of resources that were archived only with errors."""
    faults = (fault for fault in score.faults if fault.detail == ERROR_ONLY)
    return {key for fault in faults if (key := resource_key(fault.resource))}


class UrlList:
    """The pages of a file: each line is a URL, or a timestamp and a URL.

    Empty lines and lines that begin with `#` are skipped. `problems` lists the first invalid lines,
    `wrong` counts all of them; both grow while the pages are read.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name = stream, name
        self.problems: list[str] = []
        self.wrong = 0

    def __iter__(self) -> Iterator[RenderTask]:
        for number, line in enumerate(_lines(self._stream), 1):
            words = line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
            if not words or words.startswith("#"):
                continue
            task = _task(words)
            if task is not None:
                yield task
                continue
            self.wrong += 1
            if len(self.problems) < _MOST_PROBLEMS:
                self.problems.append(
                    f"{self._name}:{number}: {words[:80]!r} is not the URL of a page"
                )


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines; a line too long for any URL is yielded in pieces."""
    while line := stream.readline(_LONGEST_LINE):
        yield line


def _task(words: str) -> RenderTask | None:
    first, _, rest = words.partition(" ")
    timestamp = first if first.isdecimal() and first.isascii() else ""
    if len(timestamp) > _TIMESTAMP_DIGITS:
        return None
    try:
        url = clean_url(rest if timestamp else words)
    except UrlError:
        return None
    return RenderTask(url, timestamp) if url.lower().startswith(_SCHEMES) else None


def page_question(query: str, collection: str) -> Question:
    """Return the question for documents that are pages."""
    filters = dict(PAGE_FILTERS) | ({"collection": (collection,)} if collection else {})
    return Question(query=query, filters=filters, limit=0)


def document_pages(documents: DocumentIndex, question: Question) -> Iterator[RenderTask]:
    """Yield the documents that a question finds, each at its first date.

    They are written to a temporary file first, so that the archive is not kept open during
    rendering.
    """
    with TemporaryFile(prefix="nwx-pages-") as spool:
        for hit in documents.scroll(question):
            if hit.dates and hit.url.lower().startswith(_SCHEMES):
                spool.write(json.dumps((hit.url, hit.dates[0])).encode() + b"\n")
        spool.seek(0)
        for line in spool:
            yield RenderTask(*json.loads(line))


class RemainingPages:
    """The pages not rendered yet, each once, up to a limit.

    `skipped` counts rendered pages. A page without a timestamp counts as rendered whatever the time
    of its renders.
    """

    def __init__(
        self, tasks: Iterable[RenderTask], done: set[RenderedPage], limit: int | None
    ) -> None:
        self._tasks, self._limit = tasks, limit
        self._done = done | {RenderedPage(page.url, "") for page in done}
        self.skipped = 0

    def __iter__(self) -> Iterator[RenderTask]:
        yield from islice(self._remaining(), self._limit)

    def _remaining(self) -> Iterator[RenderTask]:
        for task in self._tasks:
            page = RenderedPage(task.url, task.timestamp)
            if page in self._done:
                self.skipped += 1
                continue
            self._done.add(page)
            yield task
