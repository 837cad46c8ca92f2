"""Python's search for cyclic garbage, which documents in bulk make slow and hardly ever need."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (50_000, 20, 100)


def collect_rarely() -> None:
    """Look for cycles less often, and not among what is there now."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles less often for a while."""
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
