"""Duplicates in sorted input, found in a single pass, and the captures held by archives.

Sorted means that all captures of a URL are in one run of lines with the same urlkey. This is
checked: the hashes of the URLs of each run are written to disk, and if one is found in two runs,
the input is read again as unsorted input.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from nwx.bulk.arrays import KEY, EntrySpill, Segment, read_segments
from nwx.bulk.process_limits import keep_memory
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.bulk.resources import MEMORY_BYTES, temporary_folder
from nwx.bulk.sorted_runs import ExternalSort
from nwx.bulk.whole_files import writing
from nwx.cdx.blocks import blocks, start_of
from nwx.cdx.columns import CdxColumns, Mask, load_columns
from nwx.cdx.files import lines_of, open_cdx
from nwx.cdx.inputs import CdxSource, FileReading, ReadTask
from nwx.cdx.rows import CdxRow
from nwx.dedup.capture_filter import RANK, Passed, keep_selected, mark_duplicates, numbered_entries
from nwx.dedup.key_hashes import KeyHash, Words
from nwx.dedup.policies import Key
from nwx.dedup.tasks import DedupPlan, Savings, add_savings, list_lines
from nwx.engine.base import Engine, is_server, open_engine
from nwx.engine.indices.digest_index import DigestIndex
from nwx.model import IndexName
from nwx.settings import Settings, load_settings

_FIRST_LINES = 5000
_SORT_BYTES = MEMORY_BYTES // 4
_PAIR, _LINE = b"0", b"1"
_WORD = 8
_COMPARED_BYTES = 64
_FULL = np.uint64(0x0101010101010101)


@dataclass(slots=True)
class RunsFound:
    """The results of `collect_runs` for a task; its lines are in a file."""

    path: Path
    lines: int = 0
    keys: int = 0
    spared: int = 0
    readings: list[FileReading] = field(default_factory=list)
    passed: Passed = field(default_factory=Passed)
    savings: Savings = field(default_factory=Savings)
    segments: list[Segment] = field(default_factory=list)


def seem_in_order(sources: Sequence[CdxSource], key: Key) -> bool:
    """Return whether the input seems sorted, by the first lines of each file."""
    if key is Key.DIGEST or any(source.held for source in sources):
        return False
    firsts: list[bytes] = []
    for source in sources:
        if start_of(source).clean.place("NA") != 0:
            return False
        before = b""
        with open_cdx(source.path) as stream:
            for _, line in zip(range(_FIRST_LINES), lines_of(stream), strict=False):
                urlkey = line.partition(b" ")[0]
                if not urlkey or urlkey.startswith(b"!"):
                    continue  # a header
                if urlkey < before:
                    return False
                firsts += [] if before else [urlkey]
                before = urlkey
    return all(first <= second for first, second in pairwise(firsts))


def collect_runs(plan: DedupPlan, task: ReadTask) -> RunsFound:
    """Read the lines of a task by runs, and write the duplicates within each run."""
    keep_memory()
    found = RunsFound(plan.folder / f"lines-{task.number}")
    spill = EntrySpill(plan.folder / f"urls-{task.number}", plan.bits)
    keys = KeyHash(plan.selection.key, plan.seed)
    with writing(found.path), found.path.open("wb") as stream:
        for columns in _selected(plan, task, found):
            same = same_as_before(columns)
            urls = keys.of_url(columns)
            spill.add(_distinct(urls, same)[:, None])
            several = same.copy()
            several[:-1] |= same[1:]
            found.keys += len(columns) - int(np.count_nonzero(several))
            columns.keep(several)
            _keep_beaten(plan, keys, urls[several], columns, found)
            stream.write(list_lines(columns))
            if plan.summary:
                add_savings(found.savings, columns)
    found.segments = spill.finish()
    return found


def all_different(segments: Sequence[Segment]) -> bool:
    """Return whether all numbers in the segments are different."""
    keep_memory()
    numbers = np.sort(read_segments(segments, 1)[:, KEY])
    return not (numbers[1:] == numbers[:-1]).any()


def _selected(plan: DedupPlan, task: ReadTask, found: RunsFound) -> Iterator[CdxColumns]:
    for piece in task.pieces:
        reading = FileReading(piece.source.shown)
        found.readings.append(reading)
        for block in blocks(piece, reading, by_run=True):
            columns = CdxColumns(block, reading)
            keep_selected(columns, plan.selection, found.passed)
            if len(columns):
                yield columns
            if plan.strict and reading.problems:
                return


def _keep_beaten(
    plan: DedupPlan, keys: KeyHash, urls: Words, columns: CdxColumns, found: RunsFound
) -> None:
    """Keep only the duplicates in `columns`, and count them."""
    if len(columns):
        selection = plan.selection
        entries = numbered_entries(columns, keys.with_url(urls, columns), keys, selection)
        by = -1 if selection.named else RANK
        beaten, number, spared = mark_duplicates(entries, selection.ranks, by)
        columns.keep(beaten)
        found.keys += number
        found.spared += spared
        found.lines += len(columns)


def _distinct(urls: Words, same: Mask) -> Words:
    """Return the numbers of the URLs of each run, each once per run."""
    other = np.ones(len(urls), np.bool_)
    other[1:] = urls[1:] != urls[:-1]
    mixed = same & other
    if not mixed.any():
        return urls[~same]
    runs = np.cumsum(~same)
    in_mixed = np.isin(runs, runs[mixed])
    pairs = np.unique(np.stack((runs[in_mixed].astype(np.uint64), urls[in_mixed])), axis=1)
    return np.concatenate((urls[~same & ~in_mixed], pairs[1]))


def same_as_before(columns: CdxColumns) -> Mask:
    """Return a mask of the lines with the same urlkey as the line before."""
    lengths, starts = columns.lengths("NA"), columns.starts("NA")
    same = np.zeros(len(columns), np.bool_)
    head = load_columns(columns.data, starts, _COMPARED_BYTES).view(np.uint64)
    tail = load_columns(columns.data, starts + np.maximum(lengths - _WORD, 0), _WORD).view(
        np.uint64
    )[:, 0]
    equal = (head[1:] == head[:-1]).view(np.uint64)[:, 0]
    needed = _WHOLE_WORDS[np.minimum(lengths // _WORD, _WORD)][1:]
    same[1:] = (lengths[1:] == lengths[:-1]) & (equal & needed == needed)
    same[1:] &= (tail[1:] == tail[:-1]) | (lengths[1:] < _WORD)
    unsure = same & ((lengths > _COMPARED_BYTES) | (lengths < _WORD))
    if unsure.any():
        rows = np.flatnonzero(unsure)
        pairs = zip(columns.texts("NA", rows), columns.texts("NA", rows - 1), strict=True)
        same[rows] = [one == other for one, other in pairs]
    return same


_WHOLE_WORDS = np.array([(1 << 8 * words) - 1 for words in range(_WORD + 1)], np.uint64) & _FULL
"""Masks with one byte of 1 per compared word, by the number of words."""


_SHOWN_EVERY = 1_000


def is_archive(place: str) -> bool:
    """Return whether a place is a folder or the address of a search server."""
    return is_server(place) or Path(place).is_dir()


def held_lines(
    settings: Settings | None, archives: Sequence[str], progress: ShowProgress
) -> Iterator[CdxRow]:
    """Yield a row for each capture that archives hold, and for each digest of its payload."""
    settings = settings or load_settings({})
    for place in archives:
        with open_engine(replace(settings, engine=place), read_only=True) as engine:
            if not engine.digests.is_made():
                yield from _held_rows(engine, progress)
                continue
            lines = ((row.digest, _packed(row)) for row in _held_rows(engine, progress))
            with temporary_folder() as folder:
                for digests, line in with_all_digests(engine.digests, lines, folder):
                    key, timestamp, url = line.decode("utf-8", "surrogateescape").split(" ", 2)
                    for digest in digests:
                        yield CdxRow(key, timestamp, url, digest=digest)


def with_all_digests(
    index: DigestIndex, lines: Iterable[tuple[str, bytes]], folder: Path
) -> Iterator[tuple[list[str], bytes]]:
    """Yield each line with all digests of its payload, its own first, in order of its own digest.

    Lines are pairs of a digest and content without newlines.
    """
    sort = ExternalSort(Path(mkdtemp(dir=folder)), _SORT_BYTES)
    for further, known in index.pairs():
        sort.add([b" ".join((known.encode(), _PAIR, further.encode()))])
    for digest, content in lines:
        sort.add([b" ".join((digest.encode(), _LINE, content))])
    digests = [""]
    for batch in sort.batches():
        for line in batch:
            own, kind, rest = line.split(b" ", 2)
            if own.decode() != digests[0]:
                digests = [own.decode()]
            if kind == _PAIR:
                digests.append(rest.decode())
            else:
                yield digests, rest


def _packed(row: CdxRow) -> bytes:
    return f"{row.urlkey} {row.timestamp} {row.url}".encode("utf-8", "surrogateescape")


def _held_rows(engine: Engine, progress: ShowProgress) -> Iterator[CdxRow]:
    total = engine.count(IndexName.CAPTURES)
    for number, entry in enumerate(engine.scan(IndexName.CAPTURES)):
        if not number % _SHOWN_EVERY:
            progress(WorkProgress("reading the archive", number, max(number, total)))
        yield CdxRow(
            urlkey=entry["urlkey"],
            timestamp=entry["timestamp"],
            url=entry["url"],
            digest=entry.get("digest", ""),
        )
