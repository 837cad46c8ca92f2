"""Verification of every byte of a cluster, with a report of the faults."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import gt
from pathlib import Path

from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.cdx.files import ZipNumBlock, block_key
from nwx.errors import FormatError, SourceError
from nwx.zipnum.blocks import block_lines, member_size
from nwx.zipnum.cluster import LOC, Cluster, open_cluster
from nwx.zipnum.publication import WORK
from nwx.zipnum.remote_bytes import is_remote

FAULTS_LISTED = 1000
_WORTH_PROCESSES_BYTES = 16 << 20
_SHOWN_BYTES = 60


@dataclass(frozen=True, slots=True)
class ClusterFault:
    """A fault in a cluster: its kind (one word), file, offset and description."""

    kind: str
    file: str
    offset: int | None
    message: str


@dataclass(slots=True)
class VerifyReport:
    """The counts of files, blocks and lines checked, the first faults, and all counted by kind.

    Kinds are `index` (lines unreadable or out of order), `lineno`, `offset` (gaps, overlaps, bytes
    not in the index), `torn` (blocks that do not inflate), `order` (unsorted lines), `key`,
    `digest`, `loc`, `unfinished`, `summary`.
    """

    files: int = 0
    blocks: int = 0
    lines: int = 0
    faults: list[ClusterFault] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, fault: ClusterFault) -> None:
        """Count a fault, and keep it if it is one of the first."""
        self.counts[fault.kind] += 1
        if len(self.faults) < FAULTS_LISTED:
            self.faults.append(fault)

    def join(self, other: "VerifyReport") -> None:
        """Add another report to this one."""
        self.files += other.files
        self.blocks += other.blocks
        self.lines += other.lines
        self.counts += other.counts
        self.faults += other.faults[: FAULTS_LISTED - len(self.faults)]


def verify_cluster(
    place: str,
    allowed: Sequence[str] = (),
    *,
    workers: int = 1,
    progress: ShowProgress = no_progress,
) -> VerifyReport:
    """Verify a cluster, given as for `open_cluster`, and report its faults.

    Raises SourceError if it cannot be opened at all, FormatError if its index is invalid.
    """
    report = VerifyReport()
    with open_cluster(place, allowed) as cluster:
        parts = _verify_index(cluster, report)
        _verify_named(cluster, parts, report)
        if not is_remote(cluster.name):
            _verify_folder(cluster, parts, report)
        total = sum(block.length for blocks in parts.values() for block in blocks)
        tasks = [(place, tuple(allowed), part, tuple(blocks)) for part, blocks in parts.items()]
        if total < _WORTH_PROCESSES_BYTES:
            workers = 1
        last = b""
        with Pool(min(workers, max(1, len(tasks)))) as pool:
            results = zip(parts.items(), pool.map(verify_part, tasks), strict=True)
            for done, ((part, blocks), (found, first, part_last)) in enumerate(results, 1):
                report.join(found)
                if first and last > first:
                    report.add(_disorder(part, blocks[0], first))
                last = max(last, part_last)
                progress(WorkProgress("reading", done, len(tasks)))
    return report


def _verify_index(cluster: Cluster, report: VerifyReport) -> dict[str, list[ZipNumBlock]]:
    """Check the lines of the index; return the blocks of each part, in index order."""
    parts: dict[str, list[ZipNumBlock]] = {}
    before = b""
    for number, (offset, line) in enumerate(cluster.index.lines(), 1):
        try:
            block = cluster.index.parse(line, offset)
        except FormatError as error:
            report.add(ClusterFault("index", cluster.name, offset, str(error)))
            continue
        if block.key < before:
            message = f"line {number} sorts before the previous one; lookups miss it"
            report.add(ClusterFault("index", cluster.name, offset, message))
        before = max(before, block.key)
        if not cluster.index.part and block.lineno != number:
            found = "no line number" if block.lineno is None else f"line number {block.lineno}"
            message = f"{found} instead of {number}; pywb pages wrongly"
            report.add(ClusterFault("lineno", cluster.name, offset, message))
        parts.setdefault(block.part, []).append(block)
    return parts


def _verify_named(cluster: Cluster, parts: Collection[str], report: VerifyReport) -> None:
    """Check for data files that the index does not name."""
    for part, size in cluster.data_beside(parts).items():
        if size:
            message = f"{size} bytes that are not in the index"
            report.add(ClusterFault("offset", part, 0, message))


def _verify_folder(
    cluster: Cluster, parts: dict[str, list[ZipNumBlock]], report: VerifyReport
) -> None:
    """Check the files next to the index."""
    index = Path(cluster.name.partition("#")[0])
    if (index.parent / WORK).exists():
        message = "a command did not finish; run it again"
        report.add(ClusterFault("unfinished", str(index.parent / WORK), None, message))
    if cluster.index.part:
        return
    loc = index.with_suffix(LOC)
    if not loc.exists():
        message = "it is missing; pywb cannot open the cluster without it"
        report.add(ClusterFault("loc", str(loc), None, message))
        return
    for part in parts.keys() - cluster.places.locations.keys():
        report.add(ClusterFault("loc", str(loc), None, f"it has no location for {part!r}"))
    summary = index.with_suffix(".summary")
    if index.suffix == ".idx" and summary.exists() and summary.read_bytes() != index.read_bytes():
        report.add(ClusterFault("summary", str(summary), None, "it is not the same as the .idx"))


def verify_part(
    place: str, allowed: Sequence[str], part: str, blocks: Sequence[ZipNumBlock]
) -> tuple[VerifyReport, bytes, bytes]:
    """Check the blocks of one data file; return the report, and its first and last line."""
    report = VerifyReport(files=1)
    first = last = b""
    with open_cluster(place, allowed) as cluster:
        try:
            size = cluster.part(part).size
        except SourceError as error:
            report.add(ClusterFault("loc", part, None, str(error)))
            return report, first, last
        _verify_offsets(part, blocks, size, report)
        for block in blocks:
            begin, end = _verify_block(cluster, block, report)
            if begin and last > begin:
                report.add(_disorder(part, block, begin))
            first, last = first or begin, max(last, end)
    return report, first, last


def _verify_offsets(
    part: str, blocks: Sequence[ZipNumBlock], size: int, report: VerifyReport
) -> None:
    """Check for gaps and overlaps between blocks, and for bytes after the last."""
    expected = 0
    for block in sorted(blocks, key=lambda each: each.offset):
        if block.offset != expected:
            what = "are in no block" if block.offset > expected else "are in two blocks"
            message = f"{abs(block.offset - expected)} bytes {what}"
            report.add(ClusterFault("offset", part, min(block.offset, expected), message))
        expected = max(expected, block.offset + block.length)
    if size > expected:
        message = f"{size - expected} bytes after the last block of the index"
        report.add(ClusterFault("offset", part, expected, message))


def _verify_block(
    cluster: Cluster, block: ZipNumBlock, report: VerifyReport
) -> tuple[bytes, bytes]:
    """Check one block; return its first and last line, empty if it does not inflate."""
    report.blocks += 1
    try:
        data = cluster.read(block)
        lines = list(block_lines(data, place=f"block at {block.offset}"))
        size = member_size(data)
    except (FormatError, SourceError) as error:
        report.add(ClusterFault("torn", block.part, block.offset, str(error)))
        return b"", b""
    report.lines += len(lines)
    for kind, message in _block_faults(block, data, size, lines):
        report.add(ClusterFault(kind, block.part, block.offset, message))
    return (min(lines), max(lines)) if lines else (b"", b"")


def _block_faults(
    block: ZipNumBlock, data: bytes, size: int, lines: Sequence[bytes]
) -> Iterator[tuple[str, str]]:
    if not lines:
        yield "torn", "a block without lines"
        return
    if size != len(data):
        yield "offset", f"the gzip member has {size} bytes, the index says {len(data)}"
    if block_key(lines[0]) != block.key:
        yield "key", f"it begins with {lines[0][:_SHOWN_BYTES]!r}, the index says {block.key!r}"
    at = next((at for at, pair in enumerate(pairwise(lines), 2) if gt(*pair)), None)
    if at is not None:
        yield "order", f"line {at} of the block sorts before the previous one"
    if block.digest and block.digest != f"sha256:{hashlib.sha256(data).hexdigest()}":
        yield "digest", "its bytes do not match the digest in the index"


def _disorder(file: str, block: ZipNumBlock, line: bytes) -> ClusterFault:
    message = f"{line[:_SHOWN_BYTES]!r} comes after a greater line"
    return ClusterFault("order", file, block.offset, message)
