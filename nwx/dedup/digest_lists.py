"""Payload digests: export and comparison without content, and additional ones for stored files."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress, batches, no_progress
from nwx.bulk.resources import MEMORY_BYTES, temporary_folder
from nwx.bulk.sorted_runs import ExternalSort
from nwx.bulk.whole_files import whole_file
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece, FileReading, Problems, ready_inputs
from nwx.dedup.capture_filter import CaptureFilter, Passed, keep_selected
from nwx.dedup.digest_filter import DigestFilter, FilterHead, is_filter, write_filter
from nwx.dedup.policies import Revisits
from nwx.dedup.sorted_input import is_archive, with_all_digests
from nwx.engine.base import Engine
from nwx.engine.document_dates import join_all_dates
from nwx.engine.indices.digest_index import DigestIndex, DigestPair
from nwx.engine.indices.stored_pieces import StoredFilesReport, StoredPiece, read_stored_files
from nwx.errors import CdxError, DigestError, FormatError, SourceError, UsageError
from nwx.model import DIGESTED, Capture, ReadError, SourceFile
from nwx.values.digests import normal_digest

_SORT_BYTES = MEMORY_BYTES // 4
_AT_ONCE = 20_000
_FIRST_BYTES = 4096
_LISTED = re.compile(rb"((?:sha1:[A-Z2-7]{32})|(?:[a-z0-9]+:[0-9a-f]{32,128})) ([0-9]{1,18})\n")

Payload = tuple[bytes, int]
"""A digest in normal form, and the length in bytes of a record with it, 0 if unknown."""

CaptureEntries = Iterable[Mapping[str, Any]]
EntriesAt = Callable[[str], CaptureEntries]
"""Returns the captures' entries of the archive at a place, as its reader may see them."""


@dataclass(slots=True)
class DigestReport:
    """The counts of captures read and digests found.

    `captures` counts captures with a payload, `without_digest` captures whose digest is missing or
    invalid.
    """

    captures: int = 0
    without_digest: int = 0
    digests: int = 0
    bytes: int = 0
    false_positive_rate: float = 0.0
    problems_total: int = 0
    problems: list[CdxError] = field(default_factory=list)


def export_digests(
    payloads: Callable[[DigestReport, Path], Iterator[Payload]], out: Path, rate: float = 0.0
) -> DigestReport:
    """Write a list of digests, or with a false-positive rate a filter, atomically to `out`."""
    report = DigestReport()
    with temporary_folder() as folder:
        listed = folder / "list" if rate else out
        with whole_file(listed) as stream:
            for digest, size in _distinct(_in_order(payloads(report, folder), folder)):
                stream.write(b"%b %d\n" % (digest, size))
                report.digests += 1
                report.bytes += size
        if rate:
            head = FilterHead.sized(report.digests, report.bytes, rate)
            report.false_positive_rate = head.false_positive_rate
            with whole_file(out) as stream:
                write_filter(stream, head, (digest for digest, _ in _read_list(listed)), folder)
    return report


def archive_payloads(
    entries: CaptureEntries, report: DigestReport, progress: ShowProgress = no_progress
) -> Iterator[Payload]:
    """Yield the payloads of captures of an archive."""
    for number, entry in enumerate(entries):
        if number % _AT_ONCE == 0:
            progress(WorkProgress("reading captures", number))
        if entry.get("record_type") != "revisit":
            size = entry.get("record_length") or 0
            yield from _payload(entry.get("digest", ""), size, report)


def entries_by_algorithm(
    index: DigestIndex, entries: Iterable[Mapping[str, Any]], algorithm: str
) -> Iterator[Mapping[str, Any]]:
    """Yield digest and length of captures with a payload, the digest by `algorithm` if known."""
    start = f"{algorithm}:"
    lines = (
        (one.get("digest", ""), b"%d" % (one.get("record_length") or 0))
        for one in entries
        if one.get("record_type") != "revisit"
    )
    with temporary_folder() as folder:
        for digests, length in with_all_digests(index, lines, folder):
            chosen = next((one for one in digests if one.startswith(start)), digests[0])
            yield {"digest": chosen, "record_length": int(length)}


def cdx_payloads(
    sources: Sequence[CdxSource],
    selection: CaptureFilter,
    report: DigestReport,
    folder: Path,
) -> Iterator[Payload]:
    """Yield the payloads of the selected captures of CDX files."""
    problems, passed = Problems(report), Passed()
    for source in (each.source for each in ready_inputs(sources, folder)):
        piece, reading = FilePiece(source), FileReading(source.shown)
        for block in blocks(piece, reading):
            columns = CdxColumns(block, reading)
            before = passed.without_digest
            keep_selected(columns, selection, passed)
            report.captures += passed.without_digest - before
            report.without_digest += passed.without_digest - before
            if len(columns):
                sizes = columns.sizes().clip(0).tolist()
                for text, size in zip(columns.texts("kc"), sizes, strict=True):
                    yield from _payload(text.decode("utf-8", "replace"), size, report)
        problems.add([piece], [reading])


def _payload(digest: str, size: int, report: DigestReport) -> Iterator[Payload]:
    report.captures += 1
    try:
        yield normal_digest(digest).encode(), size
    except DigestError:
        report.without_digest += 1


def _in_order(payloads: Iterable[Payload], folder: Path) -> Iterator[Payload]:
    sort = ExternalSort(Path(mkdtemp(dir=folder)), _SORT_BYTES)
    for some in batches(payloads, _AT_ONCE):
        sort.add([b"%b %018d" % one for one in some])
    for batch in sort.batches():
        for line in batch:
            digest, _, size = line.partition(b" ")
            yield digest, int(size)


def _distinct(payloads: Iterable[Payload]) -> Iterator[Payload]:
    """Yield each digest of sorted payloads once, with its longest record, which comes last."""
    held: Payload | None = None
    for one in payloads:
        if held and held[0] != one[0]:
            yield held
        held = one
    if held:
        yield held


def _read_list(path: Path) -> Iterator[Payload]:
    before = b""
    with path.open("rb") as stream:
        for number, line in enumerate(iter(lambda: stream.readline(_FIRST_BYTES), b""), 1):
            found = _LISTED.fullmatch(line)
            if found is None or found[1] <= before:
                what = "is not a line `digest bytes`" if found is None else "is not in order"
                raise FormatError(f"{path}:{number} {what}; export the digests again")
            before = found[1]
            yield before, int(found[2])


class DigestSet:
    """The digests at a place: an archive, a CDX file, an exported list, or a filter.

    Raises SourceError if it cannot be read, UsageError on an archive without `entries`.
    """

    def __init__(
        self, place: str, folder: Path, report: DigestReport, entries: EntriesAt | None = None
    ) -> None:
        self.place, self.filter = place, None
        if not place or is_archive(place):
            if entries is None:
                raise UsageError(f"{place} is an archive; export its digests, and name that file")
            self._list = _listed(archive_payloads(entries(place), report), folder)
            return
        path = Path(place)
        try:
            with path.open("rb") as stream:
                first = stream.readline(_FIRST_BYTES)
        except OSError as error:
            raise SourceError(f"{place} cannot be read: {error.strerror}") from error
        if is_filter(first):
            self.filter = DigestFilter(path)
        elif _LISTED.fullmatch(first) or not first:
            self._list = _read_list(path)
        else:
            chosen = CaptureFilter(revisits=Revisits.OUT)
            self._list = _listed(cdx_payloads([CdxSource(place)], chosen, report, folder), folder)

    @property
    def rate(self) -> float:
        """The false-positive rate of `held`, 0 except for a filter."""
        return self.filter.head.false_positive_rate if self.filter else 0.0

    def payloads(self) -> Iterator[Payload]:
        """Return the payloads in order; can be called once, and not for a filter."""
        return self._list

    def held(self, payloads: Iterable[Payload]) -> Iterator[Payload]:
        """Yield the payloads, given in order, whose digests are in the set."""
        if self.filter:
            yield from self.filter.known(payloads)
            return
        own = next(self._list, None)
        for one in payloads:
            while own is not None and own[0] < one[0]:
                own = next(self._list, None)
            if own is not None and own[0] == one[0]:
                yield one


def _listed(payloads: Iterator[Payload], folder: Path) -> Iterator[Payload]:
    return _distinct(_in_order(payloads, folder))


@dataclass(slots=True)
class SideOfComparison:
    """The digests of one side and their bytes; `common_bytes` is None for a filter."""

    place: str
    digests: int = 0
    bytes: int = 0
    common_bytes: int | None = 0
    share: float = 0.0


@dataclass(slots=True)
class DigestComparison:
    """The number of digests that two sides have in common; a filter adds some false positives."""

    first: SideOfComparison
    second: SideOfComparison
    common: int = 0
    false_positive_rate: float = 0.0
    reading: DigestReport = field(default_factory=DigestReport)


def compare_digests(first: str, second: str, entries: EntriesAt) -> DigestComparison:
    """Count the digests that two places have in common.

    Raises UsageError for two filters, which cannot be compared.
    """
    found = DigestComparison(SideOfComparison(first), SideOfComparison(second))
    with temporary_folder() as folder:
        sets = [DigestSet(place, folder, found.reading, entries) for place in (first, second)]
        sides = [found.first, found.second]
        if all(one.filter for one in sets):
            raise UsageError("two filters cannot be compared; one side must be a list of digests")
        if sets[0].filter:
            sets.reverse()
            sides.reverse()
        found.false_positive_rate = sets[1].rate
        _compare(found, sets, sides)
    for side in sides:
        side.share = found.common / side.digests if side.digests else 0.0
    return found


def _compare(
    found: DigestComparison, sets: Sequence[DigestSet], sides: Sequence[SideOfComparison]
) -> None:
    listed, other = sides
    counted = _counted(sets[0].payloads(), listed)
    if head := sets[1].filter and sets[1].filter.head:
        other.digests, other.bytes, other.common_bytes = head.digests, head.bytes, None
        for _, size in sets[1].held(counted):
            found.common += 1
            listed.common_bytes = (listed.common_bytes or 0) + size
        return
    theirs = _counted(sets[1].payloads(), other)
    mine, its = next(counted, None), next(theirs, None)
    while mine and its:
        if mine[0] == its[0]:
            found.common += 1
            listed.common_bytes = (listed.common_bytes or 0) + mine[1]
            other.common_bytes = (other.common_bytes or 0) + its[1]
        before = mine[0] <= its[0], its[0] <= mine[0]
        mine = next(counted, None) if before[0] else mine
        its = next(theirs, None) if before[1] else its
    for rest in (counted, theirs):
        for _ in rest:
            pass


def _counted(payloads: Iterable[Payload], side: SideOfComparison) -> Iterator[Payload]:
    for one in payloads:
        side.digests += 1
        side.bytes += one[1]
        yield one


@dataclass(frozen=True, slots=True)
class HeldSavings:
    """The number of captures whose payload is held elsewhere, and the bytes of their records."""

    captures: int
    bytes: int
    false_positive_rate: float


def measure_held(sources: Sequence[CdxSource], held: str, selection: CaptureFilter) -> HeldSavings:
    """Count the captures in CDX files whose payloads are in a set of digests (`DigestSet`).

    Raises SourceError, FormatError or UsageError if the set cannot be read.
    """
    report, captures, size = DigestReport(), 0, 0
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        known = DigestSet(held, folder, DigestReport())
        payloads = _in_order(cdx_payloads(sources, selection, report, folder), folder)
        for _, one in known.held(payloads):
            captures += 1
            size += one
    return HeldSavings(captures, size, known.rate)


@dataclass(slots=True)
class FurtherDigestsReport(StoredFilesReport):
    """The counts of files and payloads read, and of new digests.

    `files_done` were read before, or imported with additional digests. `unverified` payloads got
    none, as their digest does not match their bytes.
    """

    payloads: int = 0
    digests: int = 0
    unverified: int = 0


@dataclass(slots=True)
class _Read:
    """The digests of a piece of a file, and the offset after it."""

    end: int
    payloads: int = 0
    unverified: int = 0
    pairs: list[DigestPair] = field(default_factory=list)
    error: ReadError | None = None


def add_digests(
    engine: Engine, workers: int | None = None, progress: ShowProgress = no_progress
) -> FurtherDigestsReport:
    """Keep additional digests from now on, and add those of all imported files.

    A call that was stopped is continued by the next.
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
    found = _Read(piece.start)
    for item in piece.captures(found, _keep_none, further=True):
        found.payloads += 1
        found.unverified += not item.further
        found.pairs += [(one, item.capture.digest) for one in item.further]
    return found


def _keep_none(_: Capture) -> bool:
    return False
