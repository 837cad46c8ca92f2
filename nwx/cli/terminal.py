"""Tables and progress bars on a terminal, in their own module as help does not need rich."""

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.cli.output import clean, progress_counts, size_words

if TYPE_CHECKING:
    from rich.progress import Progress

_LEAST_CELLS = 24


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end the process, as failed


def console(*, err: bool = False) -> Console:
    """Return the console for tables and bars; wide and without colours in a pipe or a file.

    Markup such as `[b]` and `:smile:` is not interpreted, as texts may come from an archive.
    """
    shown = _Console(stderr=err, highlight=False, markup=False, emoji=False)
    if not shown.is_terminal and "COLUMNS" not in shown._environ:
        shown.width = 120
    return shown


def shortened(text: str, width: int) -> str:
    """Return text cut to `width` terminal cells, with "…" replacing its middle."""
    if cell_len(text) <= width:
        return text
    head = set_cell_size(text, width // 2).rstrip()
    tail = text[-max(1, width - cell_len(head) - 1) :]
    while cell_len(head) + 1 + cell_len(tail) > width and tail:
        tail = tail[1:]
    return f"{head}…{tail}"


def plain_table(
    *headings: str,
    right: Collection[str] = (),
    fold: Collection[str] = (),
    header_style: str = "table.header",
) -> Table:
    """Return a table without lines; columns in `right` are right-aligned, those in `fold` wrap."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=header_style)
    for heading in headings:
        table.add_column(
            heading,
            justify="right" if heading in right else "left",
            overflow="fold" if heading in fold else "ellipsis",
        )
    return table


def number_table(first: str, *others: str) -> Table:
    """Return a table whose columns, except the first, are numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right")
    return table


def print_table(
    headings: Sequence[str], rows: Iterable[Iterable[str]], right: Collection[str] = ()
) -> None:
    """Print rows of texts as a table."""
    table = plain_table(*headings, right=right, fold=headings)
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    console().print(table)


class OneLine:
    """A URL or file name in a table: on a terminal shortened in the middle, otherwise complete."""

    def __init__(self, text: str, style: str = "") -> None:
        self._text = clean(text)
        self._style = style

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        width = cell_len(self._text)
        return Measurement(min(width, _LEAST_CELLS), width).clamp(0, options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = not console.is_terminal
        text = self._text if whole else shortened(self._text, options.max_width)
        yield Text(text, style=self._style, overflow="fold")


def error_console() -> Console:
    """Return the console on standard error, for progress bars."""
    return Console(stderr=True, highlight=False)


def _two_lines(screen: Console, counts: Callable[[], str]) -> "Progress":
    """Return a progress bar with a line of counts below it, if there are any."""
    # Imported late: tables do not need it.
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    class _TwoLines(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            if shown := counts():
                yield Text(shown, no_wrap=True, overflow="ellipsis")

    return _TwoLines(
        TextColumn("{task.description}"),
        TextColumn("{task.percentage:>3.0f}%"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[size]}"),
        TimeRemainingColumn(compact=True),
        console=screen,
        transient=True,
        speed_estimate_period=300,  # files differ: with half a minute, the time left would jump
        expand=True,
        # print lines above the bar, unless standard output goes elsewhere
        redirect_stdout=sys.stdout.isatty(),
    )


@contextmanager
def drawn_bar(screen: Console, quiet_seconds: float) -> Iterator[ShowProgress]:
    """Yield a function that shows progress as a bar, which appears after `quiet_seconds`."""
    counts = ""
    bar = _two_lines(screen, lambda: counts)
    task = bar.add_task("", size="")
    begun = time.monotonic()
    before = ""

    def show(progress: WorkProgress) -> None:
        nonlocal before, task, counts
        if time.monotonic() - begun < quiet_seconds:
            return
        bar.start()
        total = progress.total or None
        if progress.step != before:
            bar.remove_task(task)  # a reset would keep the old total if the new is unknown
            task = bar.add_task(progress.step, total=total, size="")
        before = progress.step
        counts = progress_counts(progress)
        size = size_words(progress.done) if progress.in_bytes else ""
        bar.update(task, total=total, completed=progress.done, size=size)

    try:
        yield show
    finally:
        bar.stop()
