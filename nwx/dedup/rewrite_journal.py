"""The journal of `nwx dedup-warc`: continues a killed run, recognises a finished one."""

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Self

from nwx.bulk.whole_files import writing
from nwx.errors import NwxError, SourceError
from nwx.model import ReadError

JOURNAL = ".nwx-dedup-warc"
"""In the output folder; it stays there, so that a finished run is recognised."""

_FINISHED = b"finished\n"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The result for one file: `left` are duplicates that had to stay, each with its reason.

    `revisits` are the records that became revisits, `before` the listed ones that were revisits
    already.
    """

    source_file: str
    output: str
    revisits: int
    before: int
    bytes_before: int
    bytes_after: int
    left: tuple[ReadError, ...] = ()

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """Return a report from JSON values."""
        return cls(**found | {"left": tuple(ReadError(**one) for one in found["left"])})


class RewriteJournal:
    """The files of a run and the reports of finished ones, in a file in its folder.

    `goes_on` is true if an earlier run on the same files was started or finished.
    """

    def __init__(self, stream: IO[bytes], done: dict[str, Rewritten], *, goes_on: bool) -> None:
        self._stream = stream
        self._done = done
        self.goes_on = goes_on

    @property
    def is_begun(self) -> bool:
        """Whether any file is written."""
        return bool(self._done)

    def report_of(self, output: Path) -> Rewritten | None:
        """Return what became of a file that an earlier run wrote, None where it wrote none."""
        report = self._done.get(output.name)
        if report is None or not output.is_file():
            return None
        return report if output.stat().st_size == report.bytes_after else None

    def note(self, report: Rewritten) -> None:
        """Note that a file is written."""
        with writing(Path(self._stream.name)):
            self._stream.write(json.dumps(asdict(report)).encode() + b"\n")
            self._stream.flush()
        self._done[Path(report.output).name] = report


@contextmanager
def rewrite_journal(folder: Path, inputs: Sequence[str]) -> Iterator[RewriteJournal]:
    """Yield the journal of a run on these inputs (files and lists).

    Raises SourceError if another process works in the folder, or it has an unfinished run on other
    inputs.
    """
    path = folder / JOURNAL
    plan = json.dumps(_states(inputs)).encode() + b"\n"
    with writing(path):
        stream = path.open("a+b")
    with stream:
        try:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SourceError(f"another process writes into {folder}; wait for it") from error
        stream.seek(0)
        first, *rest = stream.read().splitlines(keepends=True) or [b""]
        goes_on = first == plan
        if not goes_on and first.endswith(b"\n") and _FINISHED not in rest:
            raise SourceError(
                f"{folder} has what a run on other files or lists left unfinished;"
                " give the same command again, or choose an empty folder"
            )
        if not goes_on:
            with writing(path):
                stream.truncate(0)
                stream.write(plan)
                stream.flush()
        journal = RewriteJournal(stream, _reports(rest) if goes_on else {}, goes_on=goes_on)
        try:
            yield journal
        except NwxError:
            if not journal.is_begun:
                path.unlink(missing_ok=True)
            raise
        with writing(path):
            stream.write(_FINISHED)


def _states(inputs: Sequence[str]) -> list[list[str | int]]:
    """Return the inputs, each with the values that show whether it has changed."""
    states: list[list[str | int]] = []
    for name in inputs:
        path = Path(name)
        if path.is_file():
            found = path.stat()
            states.append([str(path.resolve()), found.st_size, found.st_mtime_ns])
        else:
            states.append([name])
    return states


def _reports(lines: Sequence[bytes]) -> dict[str, Rewritten]:
    whole = (line for line in lines if line.endswith(b"}\n"))
    reports = [Rewritten.from_json(json.loads(line)) for line in whole]
    return {Path(report.output).name: report for report in reports}
