"""The progress of a build of facets."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from nwx.cli.list_commands import step_bar


class Step(Protocol):
    """How far a build is; `total` is 0 where it is not known."""

    @property
    def stage(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...


@contextmanager
def shown_build(*, quiet: bool) -> Iterator[Callable[[Step], None]]:
    """Give a function that shows progress on standard error; it says nothing for two seconds."""
    with step_bar(quiet=quiet) as show:
        yield lambda step: show(step.stage, step.done, step.total)
