"""Progress as a bar with a line of counts, on a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.cli.output import size_words
from nwx.cli.progress import progress_counts


class _TwoLines(Progress):
    """A bar with a line of counts below it where there are any, so that both fit a terminal."""

    counts = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        if self.counts:
            yield Text(self.counts, no_wrap=True, overflow="ellipsis")


def error_console() -> Console:
    """Return standard error as bars are drawn on it."""
    return Console(stderr=True, highlight=False)


@contextmanager
def drawn_bar(screen: Console, quiet_seconds: float) -> Iterator[ShowProgress]:
    """Give a function that shows progress as a bar, which appears after `quiet_seconds`."""
    bar = _TwoLines(
        TextColumn("{task.description}"),
        TextColumn("{task.percentage:>3.0f}%"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[size]}"),
        TimeRemainingColumn(compact=True),
        console=screen,
        transient=True,
        expand=True,
        # what is printed meanwhile goes above the bar, unless it goes elsewhere
        redirect_stdout=sys.stdout.isatty(),
    )
    task = bar.add_task("", size="")
    begun = time.monotonic()
    before = ""

    def show(progress: WorkProgress) -> None:
        nonlocal before, task
        if time.monotonic() - begun < quiet_seconds:
            return
        bar.start()
        total = progress.total or None
        if progress.step != before:
            bar.remove_task(task)  # to reset one would keep its total where none is known
            task = bar.add_task(progress.step, total=total, size="")
        before = progress.step
        bar.counts = progress_counts(progress)
        size = size_words(progress.done) if progress.in_bytes else ""
        bar.update(task, total=total, completed=progress.done, size=size)

    try:
        yield show
    finally:
        bar.stop()
