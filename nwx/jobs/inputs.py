"""Inputs of the jobs: archive files, documents files, and CDX files in pieces with their lines."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from nwx.bulk.sorted_file import LineBatch
from nwx.bulk.whole_files import is_address
from nwx.cdx.files import compression
from nwx.cdx.inputs import (
    CdxInput,
    CdxSource,
    FilePiece,
    FileReading,
    Problems,
    ReadTask,
    plan_tasks,
    record_from_json,
    record_json,
)
from nwx.cdx.layouts import Layout
from nwx.errors import CdxError, SourceError, UsageError
from nwx.importing.extracted.documents_file import SUCCESS_NAME, documents_notes, documents_paths
from nwx.jobs.output import JobFolder, JobReport, PieceReport, absolute_place, fsspec_address
from nwx.jobs.pieces import UnreachableError
from nwx.model import STANDARD_INPUT, ReadError
from nwx.warc.sources import ArchiveSource, expand, is_archive_name
from nwx.zipnum.builds import sound_lines

_GLOB = re.compile(r"[*?\[]")
_CDX_NAME = re.compile(r"\.cdxj?(?:\.(?:gz|zst|zstd))?$", re.I)
_PARALLEL = 16
"""The number of tasks that small inputs are split into; large ones are split by 64 MiB."""

_AT_ONCE = 32
"""The number of remote files looked up at once before the job begins."""


@dataclass(frozen=True, slots=True)
class ArchiveInputs:
    """The archive files that a job reads, read errors, and the folder that contains all files."""

    sources: tuple[ArchiveSource, ...]
    errors: tuple[ReadError, ...]
    base: str


def archive_inputs(arguments: Sequence[str]) -> ArchiveInputs:
    """Return the archive files that arguments name, as for `nwx import`.

    Folders and globs may also be addresses of any file system that fsspec supports. `base` is the
    named folder, or the deepest folder that contains all named folders and files. Raises UsageError
    if nothing is named, or on standard input.
    """
    if not arguments:
        raise UsageError("there is nothing to read; name files or folders")
    if STANDARD_INPUT in arguments:
        raise UsageError("a job cannot read standard input (-); name files or @manifests")
    sources: dict[tuple[str, str], ArchiveSource] = {}
    errors: list[ReadError] = []
    above: set[str] = set()
    for argument in arguments:
        for found in _named(argument):
            if isinstance(found, ReadError):
                errors.append(found)
                continue
            sources.setdefault((found.path, found.member), found)
            above.add(_above(argument, found.path))
    return ArchiveInputs(tuple(sources.values()), tuple(errors), _common(above))


def _named(argument: str) -> Iterator[ArchiveSource | ReadError]:
    """Yield the files that an argument names; remote ones are looked up together."""
    named = list(_expanded(argument))
    if not is_address(argument):
        yield from expand(named)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for found in pool.map(lambda address: [*expand([address])], named):
            yield from found


def _expanded(argument: str) -> Iterator[str]:
    """Yield the addresses in a folder or matching a glob; other arguments unchanged."""
    if not is_address(argument) or argument.startswith(("http://", "https://")):
        yield argument
        return
    address = fsspec_address(argument)
    if is_archive_name(address) and not _GLOB.search(address):
        yield address
        return
    yield from addresses_below(address, is_archive_name)


def addresses_below(address: str, wanted: Callable[[str], bool]) -> list[str]:
    """Return the sorted addresses of the files in a glob or folder on a file system.

    In folders, including those matched by a glob, only files with `wanted` names count. Raises
    SourceError if there are none.
    """
    import fsspec

    with SourceError.instead_of(
        (OSError, ValueError, RuntimeError, ImportError), f"{address} cannot be read"
    ):
        system, path = fsspec.core.url_to_fs(fsspec_address(address))
        folders, found = [path], set[str]()
        if _GLOB.search(path):
            named = system.glob(path, detail=True)
            folders = [name for name in named if named[name]["type"] == "directory"]
            found = named.keys() - folders
        for folder in folders:
            found |= {name for name in system.find(folder) if wanted(name)}
    if not found:
        raise SourceError(f"there is nothing to read in {address}")
    return [str(system.unstrip_protocol(name)) for name in sorted(found)]


def _above(argument: str, path: str) -> str:
    """Return the folder that an argument names, or the parent folder of its files."""
    argument = fsspec_address(argument)
    if argument.startswith("@"):
        argument = path.rpartition("/")[0]
    elif found := _GLOB.search(argument):
        argument = argument[: found.start()].rpartition("/")[0]
    elif not is_address(argument):
        argument = argument if Path(argument).is_dir() else str(Path(path).parent)
    elif is_archive_name(argument) or not path.startswith(argument.rstrip("/") + "/"):
        argument = path.rpartition("/")[0]
    return absolute_place(argument)


def _common(folders: Iterable[str]) -> str:
    """Return the folder that contains all of these, "" without one."""
    split = [folder.rstrip("/").split("/") for folder in folders]
    if not split:
        return ""
    common = 0
    for names in zip(*split, strict=False):
        if len(set(names)) > 1:
            break
        common += 1
    return "/".join(split[0][:common])


def documents_inputs(arguments: Sequence[str]) -> list[str]:
    """Return the documents files that folders, files and addresses name.

    Raises SourceError if they are missing, incomplete, of another version, or were extracted with
    --no-dedup.
    """
    found: list[str] = []
    for argument in arguments:
        if is_address(argument):
            if not JobFolder(argument).exists(SUCCESS_NAME):
                raise SourceError(f"{argument} has no {SUCCESS_NAME}: the job did not finish")
            found += addresses_below(argument, lambda name: name.endswith(".parquet"))
        else:
            found += [str(path.absolute()) for path in documents_paths([argument])]
    for path in found:
        if not is_address(path) and not documents_notes(Path(path)).deduplicated:
            raise SourceError(
                f"{path} was extracted with --no-dedup; links need an extraction without it"
            )
    return list(dict.fromkeys(found))


def cdx_tasks(arguments: Sequence[str], layout: Layout | None = None) -> list[ReadTask]:
    """Return the CDX files that arguments name, in pieces that are each read by one task.

    An argument is a file, a folder (all `.cdx` and `.cdxj` files in it, recursively), a glob, an
    address of one of these, or `@` and a manifest. Small files share a task; large ones are split
    unless compressed. Raises UsageError if nothing is named, SourceError if something cannot be
    read.
    """
    if not arguments:
        raise UsageError("there is nothing to read; name CDX files")
    if STANDARD_INPUT in arguments:
        raise UsageError("a job cannot read standard input (-); name files or @manifests")
    paths = dict.fromkeys(path for each in arguments for path in _cdx_paths(each))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        inputs = list(pool.map(lambda path: _input(path, layout), paths))
    return plan_tasks(inputs, _PARALLEL)


def held_tasks(places: Sequence[str], first: int) -> list[ReadTask]:
    """Return the tasks of held CDX files and lists of captures, as `cdx_tasks` does.

    The number of the first task is `first`.
    """
    return [
        ReadTask(number, tuple(_held(piece) for piece in task.pieces), task.size)
        for number, task in enumerate(cdx_tasks(places), first)
    ]


def _held(piece: FilePiece) -> FilePiece:
    return replace(piece, source=replace(piece.source, held=True))


def in_one_piece(tasks: Sequence[ReadTask], path: str) -> list[ReadTask]:
    """Return tasks in the same order that read a file in one piece, in the task of its start."""
    found: list[ReadTask] = []
    for task in tasks:
        pieces = []
        for piece in task.pieces:
            if piece.source.path != path:
                pieces.append(piece)
            elif not piece.start:
                pieces.append(FilePiece(piece.source))
        if pieces:
            found.append(replace(task, number=len(found), pieces=tuple(pieces)))
    return found


def _cdx_paths(argument: str) -> Iterator[str]:
    if argument.startswith("@"):
        with SourceError.instead_of(OSError, f"the manifest {argument[1:]} cannot be read"):
            lines = Path(argument[1:]).read_text(encoding="utf-8").splitlines()
        for line in lines:
            if line.strip() and not line.startswith("#"):
                yield from _cdx_paths(line.strip())
        return
    is_far = is_address(argument)
    path = absolute_place(argument)
    is_folder = not (is_cdx_name(path) if is_far else not Path(path).is_dir())
    if is_folder or (_GLOB.search(path) and not Path(path).exists()):
        found = addresses_below(path, is_cdx_name)
        yield from found if is_far else (each.removeprefix("file://") for each in found)
    else:
        yield path


def is_cdx_name(name: str) -> bool:
    """Return whether a file of this name is read in a folder."""
    return _CDX_NAME.search(name) is not None


def _input(path: str, layout: Layout | None) -> CdxInput:
    kind = compression(path)
    return CdxInput(CdxSource(path, layout), _size(path), bool(kind))


def _size(path: str) -> int:
    if not is_address(path):
        return Path(path).stat().st_size
    import fsspec

    system, inner = fsspec.core.url_to_fs(path)
    return int(system.size(inner) or 0)


READINGS = "readings"


def task_lines(task: ReadTask, report: PieceReport) -> Iterator[LineBatch]:
    """Yield the valid lines of a task; errors go to the report.

    Raises UnreachableError if an address does not answer.
    """
    readings: list[FileReading] = []
    for piece in task.pieces:
        reading = FileReading(piece.source.shown)
        readings.append(reading)
        position = piece.start
        try:
            for lines, size in sound_lines(piece, reading):
                yield lines
                position += size
                report.note(position)
        except SourceError as error:
            if task_is_far(task):
                raise UnreachableError(str(error)) from error
            raise
    report.values[READINGS] = record_json(readings)


def task_name(task: ReadTask) -> str:
    """Return the names of a task's files for messages."""
    return ", ".join(dict.fromkeys(piece.source.shown for piece in task.pieces))


def task_is_far(task: ReadTask) -> bool:
    """Return whether a task reads over the network."""
    return any(is_address(piece.source.path) for piece in task.pieces)


class _Broken:
    """The broken lines of all tasks, as `Problems` collects them."""

    def __init__(self) -> None:
        self.problems: list[CdxError] = []
        self.problems_total = 0


def add_readings(
    report: JobReport, tasks: Sequence[ReadTask], pieces: Mapping[int, PieceReport]
) -> None:
    """Add the read errors of tasks to a report: lines by number, and damaged files.

    `pieces` maps the number of each task to its report.
    """
    broken = _Broken()
    problems = Problems(broken)
    damaged: list[ReadError] = []
    for task in tasks:
        piece = pieces[task.number]
        report.add(piece)
        found = record_from_json(list[FileReading], piece.values.get(READINGS, []))
        problems.add(task.pieces, found)
        damaged += [
            ReadError(each.file, None, "damage", each.damage) for each in found if each.damage
        ]
    report.add_errors(damaged)
    add_broken_lines(report, broken.problems, broken.problems_total)


def add_broken_lines(report: JobReport, problems: Sequence[CdxError], total: int) -> None:
    """Add broken lines of CDX files to a report: the first ones, and the total number."""
    report.add_errors(
        ReadError(each.file or "", None, "line", f"line {each.line}: {each}") for each in problems
    )
    report.errors_total += total - len(problems)
