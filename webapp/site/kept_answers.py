"""Answers and scaled pictures that are kept for all who ask the same."""

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from cachetools import LRUCache, TLRUCache

from nwx.errors import EngineBusyError, ErrorText, FormatError

_Answer = TypeVar("_Answer")
_MOST = 64
_SECONDS = 600.0


class KeptAnswers:
    """The answers made last, each for its seconds; threads share them."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._kept: TLRUCache[Hashable, tuple[Any, float]] = TLRUCache(
            _MOST, lambda _, kept, now: now + kept[1]
        )

    def answer(
        self, key: Hashable, make: Callable[[], _Answer], seconds: float = _SECONDS
    ) -> _Answer:
        """Return the answer of a key, made where none is kept."""
        with self._guard:
            kept = self._kept.get(key)
        if kept is None:
            kept = make(), seconds
            with self._guard:
                self._kept[key] = kept
        found: _Answer = kept[0]
        return found


DECODED_AT_ONCE = 2
"""So many pictures are read and decoded at once: each may take 200 MB for a moment."""

KEPT_PICTURE_BYTES = 32 << 20
"""The bytes of scaled pictures that are kept: some thousands of thumbnails."""

_WAIT_SECONDS = 10.0
_BROKEN = b""


class ScaledPictures:
    """Makes scaled pictures and keeps the last; threads may share it."""

    def __init__(
        self,
        at_once: int = DECODED_AT_ONCE,
        kept: int = KEPT_PICTURE_BYTES,
        wait_seconds: float = _WAIT_SECONDS,
    ) -> None:
        self._places = threading.BoundedSemaphore(at_once)
        self._wait_seconds = wait_seconds
        self._lock = threading.Lock()
        self._kept: LRUCache[str, bytes] = LRUCache(kept, lambda picture: len(picture) + 100)

    def picture(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Return the picture of a key, made where it is not kept.

        Raises FormatError for one that cannot be made, which is remembered
        too, and EngineBusyError where too many are being made.
        """
        found = self._known(key)
        if found is None:
            with self.place():
                found = self._known(key)  # another thread may have made it meanwhile
                if found is None:
                    found = self._made(key, make)
        if found == _BROKEN:
            raise FormatError(ErrorText("this picture cannot be shown"))
        return found

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold one of the places for reading and decoding; raises EngineBusyError."""
        if not self._places.acquire(timeout=self._wait_seconds):
            raise EngineBusyError(
                ErrorText("too many pictures are being made; try again in a few seconds")
            )
        try:
            yield
        finally:
            self._places.release()

    def _known(self, key: str) -> bytes | None:
        with self._lock:
            return self._kept.get(key)

    def _made(self, key: str, make: Callable[[], bytes]) -> bytes:
        try:
            picture = make()
        except FormatError:
            picture = _BROKEN
        with self._lock:
            if len(picture) + 100 <= self._kept.maxsize:
                self._kept[key] = picture
        return picture
