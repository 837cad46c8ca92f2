"""Progress reports of work, including work shared among processes."""

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from threading import Event, Thread

from nwx.bulk.whole_files import writing
from nwx.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """The progress of a step of work; `total` is 0 if unknown.

    `done` and `total` are bytes if `in_bytes`. `files` are the files done and in total, (0, 0) if
    work is not counted by files; `counts` has the results so far by the noun counted.
    """

    step: str
    done: int
    total: int = 0
    in_bytes: bool = False
    files: tuple[int, int] = (0, 0)
    counts: Mapping[str, int] = field(default_factory=dict)


ShowProgress = Callable[[WorkProgress], object]
"""Called now and then with how far work is."""


def estimated_total(found: int, passed: int, entries: int) -> int:
    """Return how many things `entries` hold, if all hold as many as the first `passed` do."""
    return max(found, found * entries // passed) if passed else found


def no_progress(progress: WorkProgress) -> None:
    """Show nothing."""


_NUMBER_BYTES = 8
_EVERY_SECONDS = 0.25

Note = Callable[[int], None]
"""Tells how much of a piece of work is done."""


@dataclass(frozen=True, slots=True)
class Tally:
    """A file of numbers, one for each piece of work; it goes to other processes by its path."""

    path: Path

    @contextmanager
    def noting(self, piece: int) -> Iterator[Note]:
        """Give a function that records how much of a piece is done."""
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
        """Show progress while the work runs; `sizes` are the sizes of its pieces.

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
    """Call `look` every so many seconds while work runs inside, and once at its end."""
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
