"""How far work is that processes share: a number a piece of it, which all of them can see."""

import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.bulk.whole_files import writing

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
        """Give a function that tells how much of a piece is done."""
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
        """Show while the work goes on how much is done; `sizes` are those of its pieces.

        Raises SourceError where the file cannot be written.
        """
        with writing(self.path):
            self.path.write_bytes(bytes(_NUMBER_BYTES * max(1, len(sizes))))
        total, over = sum(sizes), Event()

        def watch() -> None:
            with self._numbers() as numbers:
                ended = False
                while not ended:
                    ended = over.wait(_EVERY_SECONDS)
                    done = sum(numbers)
                    progress(WorkProgress(step, done, max(done, total)))

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
