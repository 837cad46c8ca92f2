"""Rereading of imported files, in pieces and several processes; resumable."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.bulk.resources import Resources, workers_for
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import AccessRule
from nwx.engine.base import Engine
from nwx.keys import document_id
from nwx.model import UNREADABLE, Capture, ReadError, SourceFile
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource

_PIECE_BYTES = 256 << 20
_ERRORS_KEPT = 100


@dataclass(frozen=True, slots=True)
class StoredPiece:
    """An imported file from an offset on, and the rules that purge captures."""

    file: SourceFile
    start: int
    rules: tuple[AccessRule, ...]

    def captures(
        self, read: "ReadPiece", keep: Callable[[Capture], bool], *, further: bool = False
    ) -> Iterator[CaptureRecord]:
        """Yield the imported captures of the piece, without revisits; sets end and error of `read`.

        Errors of records were reported by the import. `keep` and `further` are as in ArchiveReader.
        """
        file, rules = self.file, AccessRules(self.rules)
        source = ArchiveSource(file.name, file.path, file.size, file.name.partition("#")[2])
        reader = ArchiveReader(
            source, file.collection, start=self.start, keep=keep, further=further
        )
        for item in reader:
            if isinstance(item, ReadError):
                if item.kind in ("read", "zip"):
                    read.error = item
                    return
                continue
            capture = item.capture
            if capture.source_file_offset >= file.done_to:
                break
            if capture.record_type != "revisit" and not rules.purges(capture):
                yield item
            read.end = item.resume_at
            if read.end - self.start >= _PIECE_BYTES:
                return
        read.end = file.done_to


class ReadPiece(Protocol):
    """The result of a piece: the offset after it, and the error that stopped reading."""

    end: int
    error: ReadError | None


@dataclass(slots=True)
class StoredFilesReport:
    """Counts of files; `files_done` were read before.

    `errors` has those of the first unreadable files, `errors_total` counts all.
    """

    files: int = 0
    files_done: int = 0
    errors_total: int = 0
    errors: list[ReadError] = field(default_factory=list)


_Read = TypeVar("_Read", bound=ReadPiece)


def read_stored_files(
    engine: Engine,
    task: str,
    read: Callable[[StoredPiece], _Read],
    take: Callable[[_Read], None],
    report: StoredFilesReport,
    *,
    is_done: Callable[[SourceFile], bool],
    workers: int | None,
    progress: ShowProgress,
) -> None:
    """Call `read` in other processes for the pieces of imported files, `take` with each result.

    Finished pieces are recorded under the name of the task: the next call continues after them.
    """
    rules = tuple(one for one in engine.access_index().rules().rules if one.purged)
    pieces = list(_pieces(engine, task, rules, report, is_done))
    total = sum(piece.file.done_to - piece.start for piece in pieces)
    done = 0
    with Pool(workers_for(total, Resources(workers=workers))) as pool:
        while pieces:
            left = []
            for piece, found in zip(
                pieces, pool.map(read, [(one,) for one in pieces]), strict=True
            ):
                take(found)
                if found.error is not None:
                    report.errors_total += 1
                    report.errors += [found.error][: _ERRORS_KEPT - len(report.errors)]
                else:
                    engine.digests.put_state(_mark(task, piece.file), str(found.end).encode())
                    if found.end < piece.file.done_to:
                        left.append(replace(piece, start=found.end))
                done += found.end - piece.start
                progress(WorkProgress("reading payloads", min(done, total), total))
            pieces = left


def _pieces(
    engine: Engine,
    task: str,
    rules: tuple[AccessRule, ...],
    report: StoredFilesReport,
    is_done: Callable[[SourceFile], bool],
) -> Iterator[StoredPiece]:
    """Yield the unread rest of each file not read completely."""
    for file in engine.files():
        if file.counts.get(UNREADABLE) or not file.counts.get("captures"):
            continue
        report.files += 1
        done = is_done(file)
        start = 0 if done else int(engine.digests.state(_mark(task, file)) or b"0")
        if done or start >= file.done_to:
            report.files_done += 1
        else:
            yield StoredPiece(file, start, rules)


def _mark(task: str, file: SourceFile) -> str:
    return f"{task}-{document_id(f'{file.collection}/{file.name} {file.checksum}')}"
