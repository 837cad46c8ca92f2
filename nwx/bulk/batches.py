"""Values, some at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def batches(values: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield values in lists of `size`, and what is left in a last one."""
    waiting = iter(values)
    while some := list(islice(waiting, size)):
        yield some
