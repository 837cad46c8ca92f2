"""Waiting for an engine that went away."""

import time
from collections.abc import Callable
from itertools import chain, repeat
from typing import TypeVar

from nwx.errors import EngineUnavailableError

_T = TypeVar("_T")


def retry_unavailable(
    call: Callable[[], _T], seconds: float, give_up: Callable[[], bool] = lambda: False
) -> _T:
    """Return the result of `call`, retrying for `seconds` while its engine is unavailable.

    Stops earlier when `give_up` returns True. Raises the last error then.
    """
    until = time.monotonic() + seconds
    pauses = chain((0.5, 1, 2, 4), repeat(8))
    while True:
        try:
            return call()
        except EngineUnavailableError:
            if not _rest(min(next(pauses), until - time.monotonic()), give_up):
                raise


def _rest(seconds: float, give_up: Callable[[], bool]) -> bool:
    """Sleep; return whether to retry."""
    if seconds <= 0:
        return False
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if give_up():
            return False
        time.sleep(min(left, 0.2))
    return not give_up()
