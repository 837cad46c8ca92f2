"""Further digests of payloads that are in an archive already."""

from dataclasses import dataclass, field

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.base import Engine
from nwx.engine.document_dates import join_all_dates
from nwx.engine.indices.digest_index import DigestPair
from nwx.engine.indices.stored_pieces import StoredFilesReport, StoredPiece, read_stored_files
from nwx.model import DIGESTED, Capture, ReadError, SourceFile


@dataclass(slots=True)
class FurtherDigestsReport(StoredFilesReport):
    """The files and payloads read, and the digests that are new.

    `files_done` were read before, or imported with further digests. `unverified` payloads got none:
    their digest is not that of their bytes.
    """

    payloads: int = 0
    digests: int = 0
    unverified: int = 0


@dataclass(slots=True)
class _Read:
    """What a piece has, and the offset after it."""

    end: int
    payloads: int = 0
    unverified: int = 0
    pairs: list[DigestPair] = field(default_factory=list)
    error: ReadError | None = None


def add_digests(
    engine: Engine, workers: int | None = None, progress: ShowProgress = no_progress
) -> FurtherDigestsReport:
    """Keep further digests from now on, and add those of all imported files.

    A stopped call is continued by the next one.
    """
    report, index = FurtherDigestsReport(), engine.digests
    index.keep(wanted=True)

    def take(read: _Read) -> None:
        report.digests += index.add(read.pairs)
        report.payloads += read.payloads
        report.unverified += read.unverified

    read_stored_files(
        engine,
        "read",
        _read,
        take,
        report,
        is_done=_is_digested,
        workers=workers,
        progress=progress,
    )
    join_all_dates(engine)
    return report


def _is_digested(file: SourceFile) -> bool:
    return file.counts.get(DIGESTED, 0) >= file.counts["captures"]


def _read(piece: StoredPiece) -> _Read:
    """Return the digests of a piece of a file."""
    found = _Read(piece.start)
    for item in piece.captures(found, _keep_none, further=True):
        found.payloads += 1
        found.unverified += not item.further
        found.pairs += [(one, item.capture.digest) for one in item.further]
    return found


def _keep_none(_: Capture) -> bool:
    return False
