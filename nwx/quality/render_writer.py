"""Rendering of pages; renders written to WARC files as Browsertrix names and describes them."""

import fcntl
import io
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self
from uuid import uuid4

from warcio.warcwriter import WARCWriter

from nwx import __version__
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.errors import SourceError, TimestampError, UrlError
from nwx.model import Comparison, RenderPlace
from nwx.quality.browser.pool import BrowserPool
from nwx.quality.browser.targets import PageRender, RenderTask
from nwx.quality.stored_renders import whole_bytes
from nwx.settings import Settings
from nwx.values.render_names import RenderKind, target_uri
from nwx.values.timestamps import parse_timestamp
from nwx.values.urls import clean_url

_MOST_REPORTED = 20


def pageinfo_json(
    render: PageRender, instant: datetime, comparison: Comparison | None = None
) -> bytes:
    """Return the page information of a render; `instant` is the time of the page."""
    found: dict[str, Any] = {
        "pageid": str(uuid4()),
        "urls": {
            each.url: {"status": each.status, "mime": each.mime, "type": each.type}
            for each in render.resources
        },
        "url": render.task.url,
        "counts": {"jsErrors": render.js_errors},
        "tsStatus": render.status or 999,
        "ts": iso_date(instant),
    }
    if comparison is not None:
        found["comparison"] = _comparison(comparison)
    return json.dumps(found, indent=2, ensure_ascii=False).encode("utf-8", "replace")


def _comparison(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison under Browsertrix's names, without missing values."""
    counts = {
        "crawlGood": comparison.crawl_good,
        "crawlBad": comparison.crawl_bad,
        "replayGood": comparison.replay_good,
        "replayBad": comparison.replay_bad,
    }
    matches = {"screenshotMatch": comparison.screenshot, "textMatch": comparison.text}
    return {
        **{name: value for name, value in matches.items() if value is not None},
        "resourceCounts": {name: count for name, count in counts.items() if count is not None},
    }


def iso_date(instant: datetime) -> str:
    """Return an instant as Browsertrix writes dates, with milliseconds."""
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03}Z"


_FOLDER, _FOLDER_HERE = "renders", "nwx-renders"
VERSION = "WARC/1.1"
_DIGITS = 14
FROM_HEADER, DATE_HEADER = "NWX-Rendered-From", "NWX-Rendered-Date"


class WrittenRenders(NamedTuple):
    """The places of the records of a page's renders."""

    places: dict[RenderKind, RenderPlace]


class RenderWriter:
    """Appends renders to a WARC file; a context manager.

    A new file begins with a warcinfo record. Records are appended to an existing file, after a last
    record left incomplete by a killed writer is cut off. Raises SourceError if the file cannot be
    written, is being written by another process, or is not a WARC file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._end = 0

    def __enter__(self) -> Self:
        try:
            self._open()
        except OSError as error:
            self._close()
            words = error.strerror or error
            raise SourceError(f"{self._path} cannot be written: {words}") from error
        except SourceError:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def write(self, render: PageRender, comparison: Comparison | None = None) -> WrittenRenders:
        """Add the existing renders of a page, and return their places.

        Renders from playback have the timestamp of the capture, so that they are joined to it;
        `NWX-Rendered-Date` has the time of rendering.
        """
        now = datetime.now(UTC)
        instant = _instant(render, now)
        places = {}
        stored, offset = [], self._end
        for kind, media_type, payload in _parts(render, instant, comparison):
            record = _record(render, kind, (media_type, payload), (instant, now))
            places[kind] = RenderPlace(str(self._path), offset, len(record))
            stored.append(record)
            offset += len(record)
        self._add(b"".join(stored))
        return WrittenRenders(places)

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SourceError(f"{self._path} is being written by another process") from error
        if os.fstat(self._descriptor).st_size:
            self._end = whole_bytes(self._path)
            os.ftruncate(self._descriptor, self._end)
        if not self._end:
            self._add(_warcinfo(self._path.name))

    def _add(self, data: bytes) -> None:
        """Append data; an incomplete write is cut off again."""
        view = memoryview(data)
        try:
            done = 0
            while done < len(view):
                done += os.pwrite(self._descriptor, view[done:], self._end + done)
        except OSError as error:
            os.ftruncate(self._descriptor, self._end)
            words = error.strerror or error
            raise SourceError(f"{self._path} cannot be written: {words}") from error
        self._end += len(data)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _instant(render: PageRender, now: datetime) -> datetime:
    """Return the time of a page: of the requested capture in playback, else now."""
    if not render.from_playback:
        return now
    asked = render.task.timestamp
    try:
        return parse_timestamp(asked if len(asked) == _DIGITS else render.capture_timestamp)
    except TimestampError:
        return now


def _parts(
    render: PageRender, instant: datetime, comparison: Comparison | None
) -> Iterator[tuple[RenderKind, str, bytes]]:
    """Yield kind, media type and payload of each record of a page."""
    pictures = (
        (RenderKind.VIEW, "image/png", render.view),
        (RenderKind.THUMBNAIL, "image/jpeg", render.thumbnail),
        (RenderKind.FULL_PAGE, "image/png", render.full_page),
    )
    yield from (each for each in pictures if each[2])
    if render.dom:
        # A page that shows nothing has an empty text.
        yield RenderKind.TEXT, "text/plain", render.text.encode("utf-8", "replace")
        yield RenderKind.DOM, "text/html; charset=utf-8", render.dom.encode("utf-8", "replace")
    yield RenderKind.PAGEINFO, "application/json", pageinfo_json(render, instant, comparison)


def _record(
    render: PageRender,
    kind: RenderKind,
    content: tuple[str, bytes],
    times: tuple[datetime, datetime],
) -> bytes:
    """Return a resource record; `times` are that of the page and now."""
    media_type, payload = content
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version=VERSION)
    headers = {
        "Content-Type": media_type,
        FROM_HEADER: "playback" if render.from_playback else "live",
        DATE_HEADER: iso_date(times[1]),
        "WARC-Date": iso_date(times[0]),
    }
    record = writer.create_warc_record(
        target_uri(kind, _url(render.task.url)),
        "resource",
        payload=io.BytesIO(payload),
        length=len(payload),
        warc_content_type=media_type,
        warc_headers_dict=headers,
    )
    writer.write_record(record)
    return out.getvalue()


def _url(url: str) -> str:
    with SourceError.instead_of(UrlError, f"the renders of {url[:100]!r} cannot be written"):
        return clean_url(url)


def _warcinfo(name: str) -> bytes:
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version=VERSION)
    fields = {"software": f"nwx/{__version__}", "format": "WARC File Format 1.1"}
    writer.write_record(writer.create_warcinfo_record(name, fields))
    return out.getvalue()


StoreRender = Callable[[PageRender, Comparison], RenderPlace | None]
"""Stores a render, and returns the place of its screenshot."""


@contextmanager
def kept_renders(
    settings: Settings,
    out: Path | None,
    comparison: bool,
    *,
    kept: bool = True,
    say: Callable[[str], object],
) -> Iterator[StoreRender]:
    """Yield the function that writes renders to a WARC file, `out` or a default one.

    The default file is created with the first render; `say` gets its path if it is in the current
    folder. Raises SourceError if `out` cannot be written.
    """
    if not kept:
        yield lambda render, compared: None
        return
    path = out or _usual_file(settings, say)
    with ExitStack() as stack:
        writers = [stack.enter_context(RenderWriter(path))] if out else []

        def store(render: PageRender, compared: Comparison) -> RenderPlace | None:
            if not writers:
                writers.append(stack.enter_context(RenderWriter(path)))
            written = writers[0].write(render, compared if comparison else None)
            return written.places.get(RenderKind.VIEW)

        yield store


def _usual_file(settings: Settings, say: Callable[[str], object]) -> Path:
    """Return a new file in the archive, or in the current folder if it is on a server.

    A path in the current folder is passed to `say`.
    """
    name = f"playback-{datetime.now(UTC):%Y%m%d%H%M%S}.warc.gz"
    if "://" not in settings.engine:
        return Path(settings.engine).absolute() / _FOLDER / name
    path = Path(_FOLDER_HERE).absolute() / name
    say(f"renders are written to {path}")
    return path


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
