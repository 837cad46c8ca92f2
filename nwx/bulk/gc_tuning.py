"""How a process gives memory back: Python's search for cycles, and blocks of the C library.

Documents in bulk make the search for cyclic garbage slow, and hardly ever need it.
"""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (50_000, 20, 100)
_TRIM_THRESHOLD = -1  # malloc.h: M_TRIM_THRESHOLD
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD
_ARENAS = -8  # M_ARENA_MAX
# More than the pieces in which files are read and inflated, which would otherwise be memory
# that the system gives anew, page by page: reading would take twice as long.
_LARGE_BYTES = 512 << 10
_KEPT_BYTES = 2 << 20


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


def return_large_blocks() -> bool:
    """Make this process give large blocks back to the system when they are freed.

    glibc raises the size from which it does that each time such a block is
    freed, up to 32 MB, and then keeps what an indexer or parser took for a
    moment. Of smaller blocks, 2 MB are kept, and threads have none of their
    own, which others could not use. Return False with other C libraries,
    which are left as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    options = {_MMAP_THRESHOLD: _LARGE_BYTES, _TRIM_THRESHOLD: _KEPT_BYTES, _ARENAS: 1}
    return bool(min(mallopt(option, value) for option, value in options.items()))
