"""The progress of a command on standard error: a bar on a terminal, lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.cli.output import counted, size_words

_QUIET_SECONDS = 2.0
_LINE_SECONDS = 5.0


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[ShowProgress]:
    """Give a function that shows progress on standard error; it says nothing for two seconds."""
    screen = Console(stderr=True, highlight=False)
    if quiet:
        yield no_progress
    elif screen.is_terminal:
        with _bar(screen) as show:
            yield show
    else:
        yield _lines()


def print_above(text: str) -> None:
    """Print a line, above the bar where one is shown: click would write into it."""
    sys.stdout.write(f"{text}\n")


class _TwoLines(Progress):
    """A bar with a line of counts below it where there are any, so that both fit a terminal."""

    counts = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        if self.counts:
            yield Text(self.counts, no_wrap=True, overflow="ellipsis")


@contextmanager
def _bar(screen: Console) -> Iterator[ShowProgress]:
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
        if time.monotonic() - begun < _QUIET_SECONDS:
            return
        bar.start()
        total = progress.total or None
        if progress.step != before:
            bar.remove_task(task)  # to reset one would keep its total where none is known
            task = bar.add_task(progress.step, total=total, size="")
        before = progress.step
        bar.counts = _counts(progress)
        size = size_words(progress.done) if progress.in_bytes else ""
        bar.update(task, total=total, completed=progress.done, size=size)

    try:
        yield show
    finally:
        bar.stop()


def _lines() -> ShowProgress:
    begun = time.monotonic()
    shown = begun + _QUIET_SECONDS - _LINE_SECONDS

    def show(progress: WorkProgress) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= _LINE_SECONDS:
            shown = now
            words = [*_share(progress, now - begun), _counts(progress)]
            click.echo(f"{progress.step}: {', '.join(filter(None, words))}", err=True)

    return show


def _share(progress: WorkProgress, seconds: float) -> Iterator[str]:
    """Yield how much is done, in words, and for bytes also how long the rest will take."""
    done = progress.done
    if progress.total:
        yield f"{done / progress.total:.0%}"
    if progress.in_bytes:
        if progress.total and done:
            yield f"{max(0.0, seconds * (progress.total / done - 1)):.0f} s left"
        yield size_words(done)
    elif not progress.total:
        yield f"{done:,}"


def _counts(progress: WorkProgress) -> str:
    """Return what came of the work so far, in words."""
    done, total = progress.files
    words = [f"{done:,}/{total:,} files"] if total else []
    return ", ".join([*words, *(counted(count, noun) for noun, count in progress.counts.items())])
