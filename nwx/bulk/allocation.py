"""How the C library allocates memory."""

import ctypes

_MMAP_THRESHOLD = -3  # malloc.h: M_MMAP_THRESHOLD
_LARGE_BYTES = 256 << 10


def return_large_blocks() -> bool:
    """Make this process give large blocks back to the system when they are freed.

    glibc raises the size from which it does that each time such a block is
    freed, up to 32 MB, and then keeps what an indexer or parser took for a
    moment. Return False with other C libraries, which are left as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(_MMAP_THRESHOLD, _LARGE_BYTES) == 1
