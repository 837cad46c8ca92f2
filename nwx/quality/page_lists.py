"""Pages to render, from a file of URLs or the results of a query; and their rendering."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.engine.document_index import DocumentIndex
from nwx.errors import UrlError
from nwx.quality.browser.pool import BrowserPool
from nwx.quality.browser.targets import PageRender, RenderTask
from nwx.quality.render_writer import RenderWriter
from nwx.quality.stored_renders import RenderedPage
from nwx.query.question import Question
from nwx.values.urls import clean_url

_MOST_PROBLEMS = 20
PAGE_FILTERS = {"type": ("html",), "status": ("200",)}
"""The filters of documents that are pages."""

_SCHEMES = ("http://", "https://")
_LONGEST_LINE = 1 << 16
_TIMESTAMP_DIGITS = 14


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


_MOST_REPORTED = 20


@dataclass(slots=True)
class RenderReport:
    """The result of rendering pages.

    `pages` were visited; `written` of them have renders. The others could not be loaded and are
    retried next time: `missing` ones are not in the archive, or cannot be played. `problems` counts
    pages by the reason their visit ended early, and `examples` are the first of them. `resources`
    counts the requests of all pages, `resources_failed` the ones without a response or with an
    error.
    """

    pages: int = 0
    written: int = 0
    missing: int = 0
    leaks: int = 0
    resources: int = 0
    resources_failed: int = 0
    console_errors: int = 0
    seconds: float = 0.0
    problems: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def values(self) -> dict[str, Any]:
        """Return the counts by name, as JSON values."""
        return {
            each.name: dict(value) if isinstance(value := getattr(self, each.name), dict) else value
            for each in fields(self)
        }

    def add(self, render: PageRender, *, written: bool) -> None:
        """Count a page."""
        self.pages += 1
        self.written += written
        self.missing += is_missing(render)
        self.leaks += len(render.leaks)
        self.resources += len(render.resources)
        self.resources_failed += sum(not 0 < each.status < 400 for each in render.resources)
        self.console_errors += len(render.console_errors)
        self.refused.update(render.refused)
        if render.problem:
            self.problems[render.problem.partition(":")[0]] += 1
            if len(self.examples) < _MOST_REPORTED:
                self.examples.append(f"{render.task.url}: {render.problem}")


def render_pages(
    pool: BrowserPool,
    writer: RenderWriter,
    tasks: Iterable[RenderTask],
    show: ShowProgress,
    total: int = 0,
) -> RenderReport:
    """Render pages, write their renders, and return the report."""
    report, began = RenderReport(), time.monotonic()
    for render in pool.render(tasks):
        written = is_worth_keeping(render)
        if written:
            writer.write(render)
        report.add(render, written=written)
        counts = {"problem": report.problems.total()} if report.problems else {}
        show(WorkProgress("rendering", report.pages, total, counts=counts))
    report.seconds = time.monotonic() - began
    return report


def is_missing(render: PageRender) -> bool:
    """Return whether playback only reported that it has no playable capture of a page."""
    return render.from_playback and render.status >= 400 and not render.capture_timestamp


def is_worth_keeping(render: PageRender) -> bool:
    """Return whether any part of a page was loaded."""
    answered = any(each.status for each in render.resources)
    return answered and not is_missing(render)
