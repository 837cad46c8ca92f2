"""Further digests of payloads that are in an archive already."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.resources import Resources, workers_for
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import AccessRule
from nwx.engine.base import Engine
from nwx.engine.indices.digest_index import DigestPair
from nwx.engine.joined_dates import join_all_dates
from nwx.keys import document_id
from nwx.model import DIGESTED, UNREADABLE, Capture, ReadError, SourceFile
from nwx.warc.reader import ArchiveReader
from nwx.warc.sources import ArchiveSource

_PIECE_BYTES = 256 << 20
_ERRORS_KEPT = 100


@dataclass(slots=True)
class FurtherDigestsReport:
    """The files and payloads read, and the digests that are new.

    `files_done` were read before, or imported with further digests. `unverified` payloads got none:
    their digest is not that of their bytes. `errors` lists the first files that cannot be read,
    `errors_total` counts all.
    """

    files: int = 0
    files_done: int = 0
    payloads: int = 0
    digests: int = 0
    unverified: int = 0
    errors_total: int = 0
    errors: list[ReadError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A file from an offset on, and the rules of what is purged."""

    file: SourceFile
    start: int
    rules: tuple[AccessRule, ...]


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

    Pieces of files that were read are noted, so that the next call goes on after them.
    """
    report, index = FurtherDigestsReport(), engine.digests
    index.keep(wanted=True)
    rules = tuple(one for one in engine.access_index().rules().rules if one.purged)
    pieces = list(_pieces(engine, rules, report))
    total = sum(piece.file.done_to - piece.start for piece in pieces)
    done = 0
    with Pool(workers_for(total, Resources(workers=workers))) as pool:
        while pieces:
            left = []
            for piece, read in zip(
                pieces, pool.map(_read, [(one,) for one in pieces]), strict=True
            ):
                report.digests += index.add(read.pairs)
                _note(report, read)
                if read.error is None:
                    index.put_state(_mark(piece.file), str(read.end).encode())
                    if read.end < piece.file.done_to:
                        left.append(replace(piece, start=read.end))
                done += read.end - piece.start
                progress(WorkProgress("reading payloads", min(done, total), total))
            pieces = left
    join_all_dates(engine)
    return report


def _pieces(
    engine: Engine, rules: tuple[AccessRule, ...], report: FurtherDigestsReport
) -> Iterator[_Piece]:
    """Yield the files of which something was not read."""
    for file in engine.files():
        counts = file.counts
        if counts.get(UNREADABLE) or not counts.get("captures"):
            continue
        report.files += 1
        is_done = counts.get(DIGESTED, 0) >= counts["captures"]
        start = 0 if is_done else int(engine.digests.state(_mark(file)) or b"0")
        if is_done or start >= file.done_to:
            report.files_done += 1
        else:
            yield _Piece(file, start, rules)


def _mark(file: SourceFile) -> str:
    return f"read-{document_id(f'{file.collection}/{file.name} {file.checksum}')}"


def _note(report: FurtherDigestsReport, read: _Read) -> None:
    report.payloads += read.payloads
    report.unverified += read.unverified
    if read.error is not None:
        report.errors_total += 1
        report.errors += [read.error][: _ERRORS_KEPT - len(report.errors)]


def _read(piece: _Piece) -> _Read:
    """Return the digests of a piece of a file; errors of records were reported by the import."""
    file, found, rules = piece.file, _Read(piece.start), AccessRules(piece.rules)
    source = ArchiveSource(file.name, file.path, file.size, file.name.partition("#")[2])
    reader = ArchiveReader(
        source, file.collection, start=piece.start, keep=_keep_none, further=True
    )
    for item in reader:
        if isinstance(item, ReadError):
            if item.kind in ("read", "zip"):
                return replace(found, error=item)
            continue
        capture = item.capture
        if capture.source_file_offset >= file.done_to:
            break
        if capture.record_type != "revisit" and not rules.purges(capture):
            found.payloads += 1
            found.unverified += not item.further
            found.pairs += [(one, capture.digest) for one in item.further]
        found.end = item.resume_at
        if found.end - piece.start >= _PIECE_BYTES:
            return found
    found.end = file.done_to
    return found


def _keep_none(_: Capture) -> bool:
    return False
