"""Pages rendered and written, one after the other."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.quality.browser.page_render import PageRender, RenderTask
from nwx.quality.browser.pool import BrowserPool
from nwx.quality.render_files.render_writer import RenderWriter

_MOST_REPORTED = 20


@dataclass(slots=True)
class RenderReport:
    """What came of rendering pages.

    `pages` were visited; `written` of them have renders. The others could
    not be had at all, and are tried again the next time: `missing` are not
    in the archive, or cannot be played. `problems` counts pages by what ended their visit early,
    and `examples` are the first of them. `resources` were asked for by all
    pages together, of which nothing, or an error, came for
    `resources_failed`.
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
    """Render pages and write what the browser showed; return what came of it."""
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
    """Return whether playback has no capture of a page that it can play, and only said so."""
    return render.from_playback and render.status >= 400 and not render.capture_timestamp


def is_worth_keeping(render: PageRender) -> bool:
    """Return whether anything was had of a page itself."""
    answered = any(each.status for each in render.resources)
    return answered and not is_missing(render)
