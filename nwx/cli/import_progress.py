"""The progress of an import: a bar on a terminal, lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from nwx.cli.output import counted, size_words
from nwx.importing import ImportProgress

_QUIET_SECONDS = 2.0
_LINE_SECONDS = 5.0

Show = Callable[[ImportProgress], None]


@contextmanager
def import_bar(*, quiet: bool) -> Iterator[Show]:
    """Give a function that shows progress on standard error; it says nothing for two seconds."""
    console = Console(stderr=True, highlight=False)
    if quiet:
        yield lambda _: None
    elif console.is_terminal:
        with _bar(console) as show:
            yield show
    else:
        yield _lines()


class _TwoLines(Bar):
    """A bar with a line of words below it, so that both fit a narrow terminal."""

    words = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        yield Text(self.words, no_wrap=True, overflow="ellipsis")


@contextmanager
def _bar(console: Console) -> Iterator[Show]:
    bar = _TwoLines(
        TextColumn("{task.percentage:>3.0f}%"),
        BarColumn(bar_width=None),
        TextColumn("{task.description}"),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        expand=True,
    )
    task = bar.add_task("", total=None)

    def show(progress: ImportProgress) -> None:
        if progress.seconds < _QUIET_SECONDS:
            return
        bar.start()
        bar.words = _words(progress)
        size = size_words(progress.bytes)
        bar.update(task, total=progress.bytes_total, completed=progress.bytes, description=size)

    try:
        yield show
    finally:
        bar.stop()


def _lines() -> Show:
    shown = time.monotonic() + _QUIET_SECONDS - _LINE_SECONDS

    def show(progress: ImportProgress) -> None:
        nonlocal shown
        if time.monotonic() - shown >= _LINE_SECONDS:
            shown = time.monotonic()
            click.echo(
                f"{_share(progress)}{size_words(progress.bytes)}, {_words(progress)}", err=True
            )

    return show


def _share(progress: ImportProgress) -> str:
    if not (progress.bytes_total and progress.bytes):
        return ""
    left = progress.seconds * (progress.bytes_total / progress.bytes - 1)
    return f"{progress.bytes / progress.bytes_total:.0%}, {max(0.0, left):.0f} s left: "


def _words(progress: ImportProgress) -> str:
    return (
        f"{progress.files}/{progress.files_total} files, {counted(progress.captures, 'capture')},"
        f" {counted(progress.documents, 'document')}, {counted(progress.duplicates, 'duplicate')},"
        f" {counted(progress.errors, 'error')}"
    )
