"""The progress of a build of facets: a bar on a terminal, lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from nwx.cli.output import console

_LINE_SECONDS = 5.0
_QUIET_SECONDS = 2.0


class Step(Protocol):
    """How far a build is."""

    @property
    def stage(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def seconds(self) -> float: ...


Show = Callable[[Step], None]


@contextmanager
def shown_build(*, quiet: bool) -> Iterator[Show]:
    """Give a function that shows progress on standard error; it says nothing for two seconds."""
    shown = console(err=True)
    if quiet:
        yield lambda _: None
    elif not shown.is_terminal:
        yield _lines()
    else:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=shown, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda step: bar.update(
                task, description=_words(step), completed=step.done, total=step.total or None
            )


def _lines() -> Show:
    shown = _QUIET_SECONDS - _LINE_SECONDS + time.monotonic()

    def show(step: Step) -> None:
        nonlocal shown
        if time.monotonic() - shown >= _LINE_SECONDS:
            shown = time.monotonic()
            click.echo(_words(step), err=True)

    return show


def _words(step: Step) -> str:
    of = f" of {step.total:,}" if step.total else ""
    return f"{step.stage}: {step.done:,}{of}"
