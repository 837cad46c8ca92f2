"""Progress of long work (also across processes), batches, and retries of unavailable engines."""

import mmap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from itertools import chain, islice, repeat
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

from nwx.bulk.whole_files import writing
from nwx.data_classes import dataclass
from nwx.errors import EngineUnavailableError


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """The progress of a step of work; `total` is 0 if unknown.

    `done` and `total` are bytes if `in_bytes`. `files` are the files done and in total, (0, 0) if
    files are not counted; `counts` has the results so far, by the noun counted.
    """

    step: str
    done: int
    total: int = 0
    in_bytes: bool = False
    files: tuple[int, int] = (0, 0)
    counts: Mapping[str, int] = field(default_factory=dict)


ShowProgress = Callable[[WorkProgress], object]
"""Called regularly with the progress of work."""


def estimated_total(found: int, passed: int, entries: int) -> int:
    """Extrapolate the `found` things in the first `passed` entries to all `entries`."""
    return max(found, found * entries // passed) if passed else found


def no_progress(progress: WorkProgress) -> None:
    """Ignore progress."""


_NUMBER_BYTES = 8
_EVERY_SECONDS = 0.25

Note = Callable[[int], None]
"""Records how much of a piece of work is done."""


@dataclass(frozen=True, slots=True)
class Tally:
    """A file of numbers, one for each piece of work; other processes open it by its path."""

    path: Path

    @contextmanager
    def noting(self, piece: int) -> Iterator[Note]:
        """Yield a function that records how much of a piece is done."""
        with self._numbers() as numbers:

            def note(done: int) -> None:
                numbers[piece] = done

            yield note

    @contextmanager
    def _numbers(self) -> Iterator[memoryview]:
        with (
            self.path.open("r+b") as stream,
            mmap.mmap(stream.fileno(), 0) as content,
            memoryview(content) as view,
            view.cast("Q") as numbers,
        ):
            yield numbers

    @contextmanager
    def shown(self, step: str, sizes: Sequence[int], progress: ShowProgress) -> Iterator[None]:
        """Report progress while the work runs; `sizes` are the sizes of its pieces.

        Raises SourceError if the file cannot be written.
        """
        with writing(self.path):
            self.path.write_bytes(bytes(_NUMBER_BYTES * max(1, len(sizes))))
        total = sum(sizes)
        with self._numbers() as numbers:

            def look() -> None:
                done = sum(numbers)
                progress(WorkProgress(step, done, max(done, total)))

            with meanwhile(look, _EVERY_SECONDS):
                yield


@contextmanager
def meanwhile(look: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `look` every `seconds` while the work in this context runs, and once at its end."""
    over = Event()

    def watch() -> None:
        while not over.wait(seconds):
            look()
        look()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


_T = TypeVar("_T")


def batches(values: Iterable[_T], size: int, most: int = 0) -> Iterator[list[_T]]:
    """Yield values in lists of `size`, doubled each time up to `most`; the last may be shorter."""
    waiting = iter(values)
    while some := list(islice(waiting, size)):
        yield some
        size = max(size, min(2 * size, most))


def retry_unavailable(
    call: Callable[[], _T], seconds: float, give_up: Callable[[], bool] = lambda: False
) -> _T:
    """Return the result of `call`, retrying for `seconds` while its engine is unavailable.

    Stops earlier when `give_up` returns True. Raises the last error in both cases.
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
