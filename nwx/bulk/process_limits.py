"""Limits that a process sets for itself: memory, time, signals and allocator settings.

Run as a script, it sets limits and then executes another command; it therefore imports only the
standard library:

python -I -S process_limits.py PARENT MEMORY_BYTES CPU_SECONDS FILE_BYTES COMMAND ...
"""

import ctypes
import gc
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_END_WITH_PARENT = 1  # prctl.h: PR_SET_PDEATHSIG
_THRESHOLDS = (50_000, 20, 100)
_RARE: list[tuple[int, int, int]] = []
_RARE_LOCK = threading.Lock()
_TRIM_THRESHOLD = -1  # malloc.h: M_TRIM_THRESHOLD
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD
_ARENAS = -8  # M_ARENA_MAX
# More than the pieces in which files are read and inflated; otherwise the system would provide
# memory for each piece page by page, and reading would take twice as long.
_LARGE_BYTES = 512 << 10
_KEPT_BYTES = 2 << 20
_KEPT_BLOCK_BYTES = 31 << 20
WAITED = 10
"""The limit of an item's elapsed time, as a multiple of its processor time limit."""


def limit_memory(memory_bytes: int) -> None:
    """Limit the memory of this process; a lower existing limit stays."""
    _limit(resource.RLIMIT_DATA, memory_bytes)


def forbid_core_dumps() -> None:
    """Write no memory image to disk when this process crashes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit(kind: int, value: int, *, final: bool = False) -> None:
    """Set a limit of this process; a `final` one cannot be raised again."""
    most = resource.getrlimit(kind)[1]
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(kind, (value, value if final else most))


def set_deadline(seconds: float) -> None:
    """Make the kernel end this process with SIGALRM after `seconds`; 0 removes the deadline.

    A signal handler would have to wait for native code to return; the default action, with which
    child processes start, does not.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)


def set_item_deadline(seconds: float) -> None:
    """Make the kernel end this process after `seconds` of processor time; 0 removes the deadline.

    A busy machine does not affect processor time (SIGVTALRM). SIGALRM ends a waiting process after
    WAITED times as long.
    """
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    set_deadline(seconds * WAITED)


def leave_signals_to_parent() -> None:
    """Ignore the signals that terminals and service managers send to a whole group."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def collect_rarely() -> None:
    """Run the cyclic garbage collector less often, and not on existing objects.

    Collecting is slow with documents in bulk, which hardly ever form cycles.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Run the cyclic garbage collector less often until the last thread leaves this context."""
    with _RARE_LOCK:
        _RARE.append(gc.get_threshold())
        gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        with _RARE_LOCK:
            before = _RARE.pop()
            if not _RARE:
                gc.set_threshold(*before)


def return_large_blocks() -> bool:
    """Make this process return large blocks to the system when they are freed.

    By default, glibc raises its threshold for doing so whenever such a block is freed, up to 32 MB,
    and then keeps memory that an indexer or parser used briefly. At most 2 MB of smaller blocks are
    kept, and all threads share one arena, so that any thread can reuse its memory. Return False
    with other C libraries, which are left unchanged.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    options = {_MMAP_THRESHOLD: _LARGE_BYTES, _TRIM_THRESHOLD: _KEPT_BYTES, _ARENAS: 1}
    return bool(min(mallopt(option, value) for option, value in options.items()))


def return_free_memory() -> None:
    """Return free memory between used blocks, which glibc keeps, to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@cache
def keep_memory() -> None:
    """Make this process reuse the memory of its arrays instead of returning it each time.

    glibc returns large blocks to the system at once, and allocating them again can cost as much as
    the work on them; freeing a block just below 32 MB raises its threshold to that size.
    """
    bytes(_KEPT_BLOCK_BYTES)  # never touched


def _become_command(parent: int, memory: int, seconds: int, file_bytes: int) -> None:
    """Set final limits, arrange to end with the parent, and execute the command that follows."""
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    _limit(resource.RLIMIT_DATA, memory, final=True)
    _limit(resource.RLIMIT_CPU, seconds, final=True)
    _limit(resource.RLIMIT_FSIZE, file_bytes, final=True)
    forbid_core_dumps()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if os.getppid() != parent:
        sys.exit(1)
    try:
        os.execvp(sys.argv[5], sys.argv[5:])
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _become_command(*map(int, sys.argv[1:5]))
