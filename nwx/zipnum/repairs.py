"""Repairs clusters: rebuilds the index from the data, and the data if they are damaged."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import gt
from pathlib import Path

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.resources import Resources
from nwx.bulk.sorted_file import LineBatch
from nwx.bulk.whole_files import whole_file, writing
from nwx.cdx.files import ZipNumBlock, block_key, format_index_line
from nwx.cdx.inputs import CdxSource, record_json
from nwx.errors import FormatError, SourceError, UsageError
from nwx.zipnum import LINES_A_BLOCK
from nwx.zipnum.blocks import BlockIndex, Member, holds_lines, members
from nwx.zipnum.builds import ClusterBuildReport, Workers, looks_like_cdx
from nwx.zipnum.cluster import ClusterPlaces
from nwx.zipnum.publication import publish, recover, work_folder
from nwx.zipnum.remote_bytes import LocalFile
from nwx.zipnum.shards import data_name, next_generation, part_name


@dataclass(slots=True)
class RepairReport(ClusterBuildReport):
    """The results of a repair.

    `torn` blocks did not inflate; `saved` lines were recovered from them. `unsorted` counts blocks
    and files out of order. `rewritten` means that the data were rewritten, otherwise only the index
    was. `missing` are parts named by the index but not found, replaced by data files next to it.
    """

    torn: int = 0
    saved: int = 0
    unsorted: int = 0
    rewritten: bool = False
    missing: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Part:
    """A data file: its name in the index, and its contents."""

    name: str
    path: Path
    blocks: list[ZipNumBlock]
    first: bytes = b""
    last: bytes = b""


def repair_cluster(
    place: Path,
    resources: Resources,
    *,
    lines_a_block: int = LINES_A_BLOCK,
    progress: ShowProgress = no_progress,
) -> RepairReport:
    """Repair the cluster at `place`, its folder or its index.

    An interrupted command is completed first. Lines are lost only in blocks that do not inflate,
    which the report counts. Raises UsageError for a cluster in WACZ form, SourceError if data files
    are missing.
    """
    folder = place if place.is_dir() else place.parent
    recover(folder)
    index = _index(place)
    report = RepairReport()
    files = _data_files(folder, index, report.missing)
    parts = [_Part(name, path, []) for name, path in files.items()]
    with work_folder(folder, {"repair": [str(part.path) for part in parts]}) as work:
        for number, part in enumerate(parts, 1):
            _scan(part, report)
            progress(WorkProgress("reading", number, len(parts)))
        parts.sort(key=lambda part: part.first)
        report.unsorted += sum(one.last > other.first for one, other in pairwise(parts))
        if report.torn or report.unsorted:
            report.rewritten = True
            _write_anew(folder, index.stem, work, parts, lines_a_block, resources, report, progress)
        else:
            _write_index(folder, index, work, parts, report)
    return report


def _index(place: Path) -> Path:
    """Return the path of a cluster's index, which may not exist."""
    if not place.is_dir():
        return place
    found = sorted(place.glob("*.idx")) or sorted(place.glob("*.summary"))
    if len(found) > 1:
        raise UsageError(f"{place} has {len(found)} .idx files; name the one to repair")
    return found[0] if found else place / "cluster.idx"


def _data_files(folder: Path, index: Path, missing: list[str]) -> dict[str, Path]:
    """Return the data files by part name; add absent parts to `missing`.

    Parts are named by the index or the .loc. If neither names any, or a part is not in its place,
    unnamed files next to the index are included. Raises SourceError if none replaces a missing one.
    """
    places = ClusterPlaces(str(index))
    named = _named(index) if index.exists() else []
    files: dict[str, Path] = {}
    for part in dict.fromkeys([*named, *places.locations]):
        path = _file_of(part, places, folder)
        if path is not None:
            files[part] = path
        elif part in named:
            missing.append(part)
    beside = _unnamed(folder, files.values()) if missing or not files else {}
    if not (beside or files.keys() - {*named}) and (missing or not files):
        if not missing:
            raise SourceError(f"{folder} has no data files of a cluster")
        raise SourceError(
            f"{folder}: the data file of {missing[0]!r} is missing; put it next to the index"
        )
    return files | beside


def _file_of(part: str, places: ClusterPlaces, folder: Path) -> Path | None:
    """Return the file of a part: at its .loc entry, or next to the index."""
    beside = folder.resolve() / Path(part).name
    try:
        stored = places.open(part)
    except SourceError:
        return beside if beside.is_file() else None
    stored.close()
    return Path(stored.name)


def _unnamed(folder: Path, taken: Collection[Path]) -> dict[str, Path]:
    """Return the data files of a folder that are not in `taken`, by name.

    These are the files with nwx's names (cdx-*.gz) if there are any, else all .gz files.
    """
    own = folder.resolve()
    for pattern in ("cdx-*.gz", "*.gz"):
        paths = sorted({*own.glob(pattern)} - {path.resolve() for path in taken})
        found = {path.name: path for path in paths if path.is_file() and holds_lines(path)}
        if found:
            return found
    return {}


def _named(index: Path) -> list[str]:
    """Return the parts that an index names; unreadable lines are skipped."""
    stored = LocalFile(index)
    try:
        found = BlockIndex(stored)
        if found.part:
            raise UsageError(f"{index} has the format of WACZ files; convert it first")
        parts: dict[str, None] = {}
        for offset, line in found.lines():
            try:
                parts.setdefault(found.parse(line, offset).part)
            except FormatError:
                continue  # the index is rebuilt anyway
        return list(parts)
    finally:
        stored.close()


def _members(path: Path) -> Iterator[Member]:
    stored = LocalFile(path)
    try:
        yield from members(stored)
    finally:
        stored.close()


def _scan(part: _Part, report: RepairReport) -> None:
    """Find the blocks of a data file, and record their faults."""
    for member in _members(part.path):
        lines = _lines(member)
        if member.fault:
            report.torn += 1
            report.saved += len(lines)
        if not lines:
            report.torn += not member.fault
            continue
        if any(map(gt, lines, lines[1:])) or lines[0] < part.last:
            report.unsorted += 1
        part.first = min(part.first or lines[0], *lines)
        part.last = max(part.last, *lines)
        part.blocks.append(
            ZipNumBlock(block_key(lines[0]), part.name, member.offset, member.length)
        )
        report.lines += len(lines)
        report.blocks += 1
    report.shards += 1


def _lines(member: Member) -> LineBatch:
    """Return the lines of a member; if it is damaged, only complete CDX lines."""
    lines = member.content.split(b"\n")
    rest = lines.pop()
    if rest and not member.fault:
        lines.append(rest)
    return [line for line in lines if looks_like_cdx(line)] if member.fault else lines


def _write_index(
    folder: Path, index: Path, work: Path, parts: Sequence[_Part], report: RepairReport
) -> None:
    names = [part_name(number) for number in range(len(parts))]
    for name, part in zip(names, parts, strict=True):
        with whole_file(work / name) as stream:
            stream.writelines(map(format_index_line, part.blocks))
    publish(
        folder,
        work,
        names,
        {part.name: (_path(part.path, folder),) for part in parts},
        stem=index.stem,
        report=record_json(report),
    )


def _path(path: Path, folder: Path) -> str:
    """Return a path for a .loc file: relative if the file is in the cluster's folder."""
    own = folder.resolve()
    return str(path.relative_to(own)) if path.is_relative_to(own) else str(path)


def _write_anew(
    folder: Path,
    stem: str,
    work: Path,
    parts: Sequence[_Part],
    lines_a_block: int,
    resources: Resources,
    report: RepairReport,
    progress: ShowProgress,
) -> None:
    """Sort the readable lines of all data files, and write them to new files."""
    sources = []
    for number, part in enumerate(parts):
        path = work / f"lines-{number:05d}"
        with writing(path), path.open("wb") as stream:
            for member in _members(part.path):
                stream.write(b"".join(line + b"\n" for line in _lines(member)))
        sources.append(CdxSource(str(path), name=str(part.path)))
    report.lines = report.blocks = report.shards = 0
    points = sorted({block_key(part.first) for part in parts[1:] if part.first})
    generation = next_generation(folder)
    names = [data_name(number, generation) for number in range(len(points) + 1)]
    with Workers(work, sources, resources, progress) as workers:
        workers.write_shards(workers.sorted_runs(report), points, names, lines_a_block, report)
    new = [part_name(number) for number in range(len(names))]
    old = {path.name for path in folder.glob("part-[0-9]*")} - {*new}
    old |= {part.path.name for part in parts if part.path.parent == folder.resolve()}
    publish(
        folder,
        work,
        new,
        {name: (name,) for name in names},
        stem=stem,
        obsolete=sorted(old),
        report=record_json(report),
    )
