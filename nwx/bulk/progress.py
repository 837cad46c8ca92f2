"""How far work is, told to whoever shows it."""

from collections.abc import Callable

StepProgress = Callable[[str, int, int], None]
"""Called with a step, how much of it is done and how much it is in all."""


def no_progress(step: str, done: int, total: int) -> None:
    """Show nothing."""
