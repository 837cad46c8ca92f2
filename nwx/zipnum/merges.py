"""Merges new lines into a cluster; blocks without new lines are copied unchanged."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nwx.bulk.process_limits import keep_memory
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import Resources
from nwx.bulk.sorted_file import Distinct, LineBatch, merged_lines
from nwx.bulk.sorted_runs import SortedRun, read_runs
from nwx.bulk.whole_files import done_once, whole_file
from nwx.cdx.files import ZipNumBlock, format_index_line
from nwx.cdx.inputs import CdxSource, record_json
from nwx.errors import FormatError, UsageError
from nwx.zipnum import LINES_A_BLOCK, ClusterBuildOptions
from nwx.zipnum.builds import ClusterBuildReport, Workers, plan_of
from nwx.zipnum.cluster import Cluster, index_file, open_cluster
from nwx.zipnum.publication import Locations, publish, recover, work_folder
from nwx.zipnum.shards import ShardWriter, data_name, next_generation, part_name, shard_writer


@dataclass(slots=True)
class MergeReport(ClusterBuildReport):
    """The results of a merge; `lines` counts the new lines.

    `blocks` counts all blocks of the new cluster, `copied` those copied unchanged into new files.
    Files without new lines (`files_kept`) are not touched.
    """

    copied: int = 0
    files_kept: int = 0


@dataclass(frozen=True, slots=True)
class _Group:
    """Consecutive data files, with the index lines of their blocks.

    Usually one file; more only if a key is at the end of one and the start of the next. New lines
    from `start` up to `end` belong to the group.
    """

    number: int
    parts: tuple[str, ...]
    blocks: tuple[ZipNumBlock, ...]
    start: bytes
    end: bytes | None


@dataclass(frozen=True, slots=True)
class _Done:
    """The result of merging a group; if not `written`, its files stay unchanged."""

    written: bool
    added: int = 0
    repeated: int = 0
    blocks: int = 0
    copied: int = 0


def merge_lines(
    place: Path,
    sources: Sequence[CdxSource],
    resources: Resources,
    *,
    lines_a_block: int | None = None,
    progress: ShowProgress = no_progress,
) -> MergeReport:
    """Merge the lines of CDX files into the cluster at `place`, its index or its folder.

    Readers see the old cluster until the new one is complete. A killed merge is continued by the
    next call. Without `lines_a_block`, new blocks are as large as the first block. Raises
    UsageError for a cluster in WACZ form or with an index that has lost its lines, and the errors
    of `build`.
    """
    recover(place if place.is_dir() else place.parent)
    index = index_file(place)
    found = index.stat()
    plan = plan_of(sources, ClusterBuildOptions(), resources) | {"lines": lines_a_block}
    plan["index"] = [index.name, found.st_size, found.st_mtime_ns]
    report = MergeReport()
    with work_folder(index.parent, plan) as work, open_cluster(index) as cluster:
        if cluster.index.part:
            raise UsageError(f"{index} has the format of WACZ files; convert it first")
        groups = list(_groups(cluster))
        if not groups:
            groups = [_first_group(cluster)]
        generation = next_generation(index.parent)
        with Workers(work, sources, resources, progress) as workers:
            runs = workers.sorted_runs(report)
            lines = lines_a_block or _lines_of(cluster, groups[0].blocks)
            form = (generation, lines)
            to_do = [(index, work, group, runs, form, workers.memory_bytes) for group in groups]
            done = list(workers.pool.map_shown(merge_group, to_do, progress, "writing"))
        _sum_up(report, groups, done)
        _publish(cluster, index, work, groups, done, generation, report)
    return report


def _groups(cluster: Cluster) -> Iterator[_Group]:
    """Yield the data files of a cluster in groups, in the order of its index.

    Raises FormatError if the blocks of a file are not contiguous.
    """
    grouped: list[tuple[list[str], list[ZipNumBlock]]] = []
    seen: set[str] = set()
    for block in cluster.blocks():
        if grouped and grouped[-1][0][-1] == block.part:
            grouped[-1][1].append(block)
            continue
        if block.part in seen:
            raise FormatError(f"{cluster.name}: the blocks of {block.part} are not adjacent")
        seen.add(block.part)
        if grouped and _reaches(cluster, grouped[-1][1][-1], block.key):
            grouped[-1][0].append(block.part)
            grouped[-1][1].append(block)
        else:
            grouped.append(([block.part], [block]))
    ends = [*(blocks[0].key for _, blocks in grouped[1:]), None]
    start: bytes | None = b""
    for number, ((parts, blocks), end) in enumerate(zip(grouped, ends, strict=False)):
        yield _Group(number, tuple(parts), tuple(blocks), start or b"", end)
        start = end


def _first_group(cluster: Cluster) -> _Group:
    """Return the group for all lines of an empty cluster; its files are replaced.

    Raises UsageError if data exist although the index lists none.
    """
    sizes = cluster.data_beside(())
    if any(sizes.values()):
        raise UsageError(
            f"{cluster.name} has no lines, though its data files have;"
            " rebuild it with nwx zipnum repair"
        )
    return _Group(0, tuple(sizes), (), b"", None)


def _lines_of(cluster: Cluster, blocks: Sequence[ZipNumBlock]) -> int:
    """Return the number of lines of the first block, at least 1."""
    if not blocks:
        return LINES_A_BLOCK
    return max(1, sum(1 for _ in cluster.lines_of(iter(blocks[:1]))))


def _reaches(cluster: Cluster, block: ZipNumBlock, key: bytes) -> bool:
    """Return whether a block has lines at or after a key."""
    return any(line >= key for line in cluster.lines_of(iter([block]), key))


def merge_group(
    index: Path,
    work: Path,
    group: _Group,
    runs: Sequence[SortedRun],
    form: tuple[int, int],
    memory_bytes: int,
) -> _Done:
    """Rewrite the data files of a group if it has new lines; always write their index.

    `form` is the generation of the new file and the number of lines per block.
    """
    keep_memory()
    report = work / f"group-{group.number:05d}.json"
    new = _Lines(read_runs(work, runs, memory_bytes, group.start, group.end))
    return _Done(**done_once(report, lambda: asdict(_merged(index, work, group, new, form))))


def _merged(index: Path, work: Path, group: _Group, new: "_Lines", form: tuple[int, int]) -> _Done:
    if new.peek() is None:
        with whole_file(work / part_name(group.number)) as stream:
            stream.writelines(map(format_index_line, group.blocks))
        return _Done(written=False, blocks=len(group.blocks))
    generation, lines_a_block = form
    names = (data_name(group.number, generation), part_name(group.number))
    with (
        open_cluster(index) as cluster,
        shard_writer(work, *names, lines_a_block, even=True) as writer,
    ):
        return _write_group(cluster, group, new, writer)


class _Lines:
    """New lines in order, taken up to a key at a time."""

    def __init__(self, batches: Iterator[LineBatch]) -> None:
        self._batches = batches
        self._batch: LineBatch = []
        self.taken = 0

    def peek(self) -> bytes | None:
        """Return the next line, None at the end."""
        while not self._batch:
            more = next(self._batches, None)
            if more is None:
                return None
            self._batch = more
        return self._batch[0]

    def before(self, key: bytes | None) -> Iterator[LineBatch]:
        while (line := self.peek()) is not None and (key is None or line < key):
            stop = len(self._batch) if key is None else bisect_left(self._batch, key)
            taken, self._batch = self._batch[:stop], self._batch[stop:]
            self.taken += len(taken)
            yield taken


def _write_group(cluster: Cluster, group: _Group, new: _Lines, writer: ShardWriter) -> _Done:
    copied = repeated = 0
    carried: LineBatch = []  # lines that may sort after the start of the next block
    if not group.blocks:
        repeated += _add(writer, new.before(None))
    ends = [*(block.key for block in group.blocks[1:]), None][: len(group.blocks)]
    for block, end in zip(group.blocks, ends, strict=True):
        line = new.peek()
        untouched = line is None or (end is not None and line >= end and not _has_key(line, end))
        if untouched and not carried:
            writer.copy(block.key, cluster.read(block))
            copied += 1
            continue
        held = [*carried, *cluster.lines_of(iter([block]))]
        held.sort()
        cut = len(held) if end is None else bisect_left(held, end)
        held, carried = held[:cut], held[cut:]
        repeated += _add(writer, merged_lines([iter([held] if held else []), new.before(end)]))
    writer.flush()
    return _Done(
        written=True,
        added=new.taken - repeated,
        repeated=repeated,
        blocks=writer.blocks,
        copied=copied,
    )


def _add(writer: ShardWriter, batches: Iterator[LineBatch]) -> int:
    """Write lines in order, each once; return the number of repeated lines."""
    distinct = Distinct(batches)
    for batch in distinct:
        writer.add(batch)
    return distinct.repeated


def _has_key(line: bytes, key: bytes) -> bool:
    return line.startswith(key + b" ")


def _sum_up(report: MergeReport, groups: Sequence[_Group], done: Sequence[_Done]) -> None:
    for group, each in zip(groups, done, strict=True):
        report.lines += each.added
        report.repeated += each.repeated
        report.blocks += each.blocks
        report.copied += each.copied
        report.files_kept += 0 if each.written else len(group.parts)
        report.shards += 1 if each.written else len(group.parts)


def _publish(
    cluster: Cluster,
    index: Path,
    work: Path,
    groups: Sequence[_Group],
    done: Sequence[_Done],
    generation: int,
    report: MergeReport,
) -> None:
    folder = index.parent
    locations: Locations = {}
    obsolete = [path.name for path in folder.glob("part-[0-9]*")]
    for group, each in zip(groups, done, strict=True):
        if each.written:
            name = data_name(group.number, generation)
            locations[name] = (name,)
            obsolete += [file for part in group.parts if (file := _own(cluster, folder, part))]
        else:
            paths = cluster.places.locations
            locations |= {part: paths.get(part, (part,)) for part in group.parts}
    parts = [part_name(group.number) for group in groups]
    publish(
        folder,
        work,
        parts,
        locations,
        stem=index.stem,
        obsolete=sorted({*obsolete} - {*parts}),
        report=record_json(report),
    )


def _own(cluster: Cluster, folder: Path, part: str) -> str:
    """Return the file name of a part if it is in the cluster's own folder, otherwise ""."""
    path = Path(cluster.part(part).name)
    return path.name if path.parent == folder.resolve() else ""
