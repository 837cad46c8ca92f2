"""The progress of a command on standard error: a bar on a terminal, lines elsewhere."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.cli.output import counted, size_words

_QUIET_SECONDS = 2.0
_LINE_SECONDS = 5.0


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[ShowProgress]:
    """Give a function that shows progress on standard error; it says nothing for two seconds."""
    if quiet:
        yield no_progress
        return
    from nwx.cli.terminal import drawn_bar, error_console

    screen = error_console()
    if screen.is_terminal:
        with drawn_bar(screen, _QUIET_SECONDS) as show:
            yield show
    else:
        yield _lines()


def print_above(text: str) -> None:
    """Print a line, above the bar where one is shown: click would write into it."""
    sys.stdout.write(f"{text}\n")


def _lines() -> ShowProgress:
    begun = time.monotonic()
    shown = begun + _QUIET_SECONDS - _LINE_SECONDS

    def show(progress: WorkProgress) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= _LINE_SECONDS:
            shown = now
            words = [*_share(progress, now - begun), progress_counts(progress)]
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


def progress_counts(progress: WorkProgress) -> str:
    """Return what came of the work so far, in words."""
    done, total = progress.files
    words = [f"{done:,}/{total:,} files"] if total else []
    return ", ".join([*words, *(counted(count, noun) for noun, count in progress.counts.items())])


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in a list; the second one ends the process as ever."""
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)
        for each in before:
            signal.signal(each, before[each])

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number in before:
            signal.signal(number, before[number])
