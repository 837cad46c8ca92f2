"""Publication of clusters: new files are written in a subfolder, then appear at once.

It is atomic for readers: opening the index yields the old cluster or the new one. A process killed
while moving files leaves a note of the remaining steps; the next process completes them first.
"""

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from nwx.bulk.whole_files import whole_file, writing
from nwx.cdx.files import (
    ZipNumBlock,
    format_index_line,
    format_locations,
    format_meta,
    format_wacz_line,
    parse_index_line,
    parse_locations,
)
from nwx.errors import SourceError, UsageError
from nwx.zipnum.cluster import Cluster
from nwx.zipnum.shards import data_name, part_name, shard_writer

STEM = "cluster"
WORK = ".nwx-zipnum"
SPLITS = "splits"
_PLAN, _NOTE, _LOCK = "plan.json", "publish.json", "lock"
_FINISHED = ".nwx-zipnum-finished"

Locations = dict[str, tuple[str, ...]]


@contextmanager
def work_folder(folder: Path, plan: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the work folder of a cluster, with the files of a killed attempt of the same plan.

    It is removed on success, on UsageError, and if an error left nothing to continue. Raises
    SourceError if another process works on this cluster.
    """
    with _locked(folder) as work:
        with writing(work):
            _begin(work, json.dumps(plan, indent=1))
        try:
            yield work
        except Exception as error:
            if isinstance(error, UsageError) or {one.name for one in work.iterdir()} <= {
                _LOCK,
                _PLAN,
            }:
                shutil.rmtree(work)
            raise
        shutil.rmtree(work)


@contextmanager
def emptied_folder_removed(folder: Path) -> Iterator[None]:
    """Remove a folder at the end if it did not exist before and is empty."""
    is_new = not folder.exists()
    try:
        yield
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def recover(folder: Path) -> dict[str, Any] | None:
    """Complete the publication of a killed process; return its report, None if there is none."""
    if not (folder / WORK / _NOTE).exists():
        return None
    with _locked(folder) as work, writing(folder):
        report = _finish(folder)
        shutil.rmtree(work)
    return report


def note_finished(folder: Path, plan: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    """Record the plan and report of the work that wrote a folder's index, for `finished_work`."""
    noted = {"index": _index_state(folder), "plan": plan, "report": report}
    with whole_file(folder / _FINISHED) as stream:
        stream.write(json.dumps(noted).encode())


def finished_work(folder: Path, plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the report of the work that wrote a folder's index, None if of another plan."""
    path = folder / _FINISHED
    noted = json.loads(path.read_bytes()) if path.exists() else {}
    is_same = noted.get("plan") == json.loads(json.dumps(plan))
    return noted["report"] if is_same and noted["index"] == _index_state(folder) else None


def _index_state(folder: Path) -> list[int]:
    """Return size, modification time and inode of the index, to detect changes; [] if missing."""
    path = folder / f"{STEM}.idx"
    if not path.exists():
        return []
    found = path.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ino]


@contextmanager
def _locked(folder: Path) -> Iterator[Path]:
    work = folder / WORK
    with writing(work):
        work.mkdir(parents=True, exist_ok=True)
        lock = (work / _LOCK).open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SourceError(f"another process is working on {folder}; wait for it") from error
        yield work


def _begin(work: Path, plan: str) -> None:
    path = work / _PLAN
    if path.exists() and path.read_text() == plan:
        return
    for old in work.iterdir():
        if old.name != _LOCK:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    with whole_file(path) as stream:
        stream.write(plan.encode())


def publish(
    folder: Path,
    work: Path,
    parts: Sequence[str],
    locations: Locations,
    *,
    stem: str = STEM,
    summary: bool = False,
    obsolete: Sequence[str] = (),
    report: Mapping[str, Any],
) -> None:
    """Publish a cluster, whose new data files and all part indices are in `work`.

    `obsolete` files of the folder are deleted. With `summary`, or if there already is one, the
    index is also written as the summary. `recover` returns `report` if this process is killed.
    """
    with writing(folder):
        _write_index(work, parts)
        (work / f"{STEM}.loc").write_bytes(format_locations(locations))
        new = sorted(path.name for path in work.glob("cdx-*.gz"))
        note = {
            "stem": stem,
            "summary": summary,
            "new": new,
            "parts": list(parts),
            "obsolete": list(obsolete),
            "report": report,
        }
        with whole_file(work / _NOTE) as stream:
            stream.write(json.dumps(note).encode())
        _finish(folder)


def _finish(folder: Path) -> dict[str, Any]:
    """Move the noted files to their places; files moved before are skipped."""
    work = folder / WORK
    note = json.loads((work / _NOTE).read_bytes())
    stem = folder / note["stem"]
    loc, index = stem.with_name(f"{stem.name}.loc"), stem.with_name(f"{stem.name}.idx")
    for name in note["new"]:
        _move(work / name, folder / name)
    final = (work / f"{STEM}.loc").read_bytes()
    if loc.exists():
        # readers of the old index still find its files until the new index is in place
        both = parse_locations(loc.read_bytes()) | parse_locations(final)
        _put(loc, format_locations(both))
    else:
        _put(loc, final)
    for name in note["parts"]:
        _move(work / name, folder / name)
    _move(work / SPLITS, stem.with_name(f"{stem.name}.{SPLITS}"))
    _move(work / f"{STEM}.idx", index)
    old = stem.with_name(f"{stem.name}.summary")
    if note["summary"] or old.exists():
        _put(old, index.read_bytes())
    _put(loc, final)
    for name in note["obsolete"]:
        (folder / name).unlink(missing_ok=True)
    report: dict[str, Any] = note["report"]
    return report


def _write_index(work: Path, parts: Sequence[str]) -> None:
    with whole_file(work / f"{STEM}.idx") as stream:
        stream.writelines(numbered_lines(map(_part_lines, (work / part for part in parts))))


def _part_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as index:
        yield from index


def numbered_lines(parts: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Yield the index lines of all parts, with their numbers in the whole index."""
    numbers = count(1)
    for part in parts:
        for line in part:
            block = parse_index_line(line.rstrip(b"\n"))
            yield format_index_line(replace(block, lineno=next(numbers)))


def _move(path: Path, target: Path) -> None:
    if path.exists():
        path.replace(target)


def _put(path: Path, content: bytes) -> None:
    with whole_file(path) as stream:
        stream.write(content)


WACZ_DATA, WACZ_INDEX = "index.cdx.gz", "index.idx"


@dataclass(frozen=True, slots=True)
class Converted:
    """The number of copied blocks, and their bytes."""

    blocks: int
    bytes: int


def to_wacz_form(cluster: Cluster, folder: Path) -> Converted:
    """Write index.cdx.gz and index.idx, as in the folder indexes/ of a WACZ.

    Raises UsageError if they already exist.
    """
    data, index = folder / WACZ_DATA, folder / WACZ_INDEX
    if data.exists() or index.exists():
        raise UsageError(f"{folder} already has an index; name another folder")
    blocks = offset = 0
    with emptied_folder_removed(folder):
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with whole_file(index) as lines, whole_file(data) as stream:
            lines.write(format_meta(data.name))
            for block in cluster.blocks():
                stored = cluster.read(block)
                lines.write(format_wacz_line(_placed(block, offset, stored)))
                offset += stream.write(stored)
                blocks += 1
    return Converted(blocks, offset)


def _placed(block: ZipNumBlock, offset: int, stored: bytes) -> ZipNumBlock:
    digest = f"sha256:{hashlib.sha256(stored).hexdigest()}"
    return replace(block, offset=offset, digest=digest)


def to_cluster(cluster: Cluster, folder: Path) -> Converted:
    """Write a cluster in the classic form, with one data file.

    Raises UsageError if a cluster already exists.
    """
    recover(folder)
    if any(folder.glob("*.idx")):
        raise UsageError(f"{folder} already has a cluster; name another folder")
    name, part = data_name(0), part_name(0)
    with work_folder(folder, {"convert": cluster.name}) as work:
        with shard_writer(work, name, part, 1) as writer:
            for block in cluster.blocks():
                writer.copy(block.key, cluster.read(block))
        done = Converted(writer.blocks, (work / name).stat().st_size)
        publish(folder, work, [part], {name: (name,)}, report={})
    return done
