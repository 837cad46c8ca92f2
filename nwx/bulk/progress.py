"""How far work is, told to whoever shows it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """How much of a step of work is done, of how much; `total` is 0 where that is not known.

    Both are bytes where `in_bytes` says so. `files` are those done and all
    of them, (0, 0) where work is not counted by files; `counts` has what
    came of the work so far, by the noun of what is counted.
    """

    step: str
    done: int
    total: int = 0
    in_bytes: bool = False
    files: tuple[int, int] = (0, 0)
    counts: Mapping[str, int] = field(default_factory=dict)


ShowProgress = Callable[[WorkProgress], object]
"""Called now and then with how far work is."""


def estimated_total(found: int, passed: int, entries: int) -> int:
    """Return how many things `entries` hold, if all hold as many as the first `passed` do."""
    return max(found, found * entries // passed) if passed else found


def no_progress(progress: WorkProgress) -> None:
    """Show nothing."""
