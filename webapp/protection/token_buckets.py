"""Token buckets in a file that all processes of a service map.

A bucket is the time at which it will be full again, if nobody takes from it: 16 bytes with the
hash of its client. Sets of a few buckets make room by giving up the one that is full first.
"""

import ctypes
import errno
import fcntl
import hashlib
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

_KEY_BYTES = 16
_SETS, _WAYS = 8_192, 8
_SET = struct.Struct("=" + _WAYS * "Qd")
_NOISE_SECONDS = 1e-6
_BUCKET = struct.Struct("=Qd")

# `fcntl.flock` gives the interpreter lock away, and may wait for it with the file locked.
_flock = ctypes.PyDLL(None, use_errno=True).flock


class TokenBuckets:
    """Buckets of clients; those of one file are the same in all processes.

    Its lock is the kernel's: it is released when a process that holds it is killed.
    `clock` gives seconds, the same in all processes.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 0)
        self._key = self._map[:_KEY_BYTES]
        self._lock = threading.Lock()
        self.hash_of = lru_cache(10_000)(self._hash_of)

    @staticmethod
    def create(path: Path) -> None:
        """Make a file of full buckets, all of its bytes on the disk: a full one kills who maps."""
        path.write_bytes(os.urandom(_KEY_BYTES) + bytes(_SETS * _SET.size))

    def take(self, client: str, cost: float, rate: float, burst: float) -> float:
        """Take `cost` tokens; return 0 if they were there, else the seconds until they will be.

        A bucket holds up to `burst` tokens, and gets `rate` a second.
        """
        hashed = self.hash_of(client)
        start = _KEY_BYTES + hashed % _SETS * _SET.size
        with self._locked():
            now = self._clock()
            values: tuple[Any, ...] = _SET.unpack_from(self._map, start)
            hashes, times = values[::2], values[1::2]
            if hashed in hashes:
                way = hashes.index(hashed)
                full_at = min(max(times[way], now), now + burst / rate)
            else:
                way, full_at = times.index(min(times)), now
            full_at += cost / rate
            wait: float = full_at - now - burst / rate
            wait = wait if wait > _NOISE_SECONDS else 0.0
            if not wait:
                _BUCKET.pack_into(self._map, start + way * _BUCKET.size, hashed, full_at)
        return wait

    def close(self) -> None:
        """Close the file."""
        self._map.close()
        self._file.close()

    def _hash_of(self, client: str) -> int:
        """Return the hash of a client, by a key: nobody can choose whose bucket to displace."""
        data = client.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, "little")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = self._file.fileno()
        with self._lock:
            while _flock(descriptor, fcntl.LOCK_EX):
                if ctypes.get_errno() != errno.EINTR:
                    raise OSError(ctypes.get_errno(), "cannot lock the token buckets")
            try:
                yield
            finally:
                _flock(descriptor, fcntl.LOCK_UN)
