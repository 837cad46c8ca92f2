"""Which archive files the documents files of some folders are of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nwx.bulk.addresses import is_address
from nwx.errors import SourceError, UsageError
from nwx.importing.extracted.documents_file import documents_notes
from nwx.importing.extracted.notes import DocumentsNotes, ExtractedFile
from nwx.importing.options import ImportOptions
from nwx.model import ReadError
from nwx.warc.sources import ArchiveSource, FileError

SUCCESS_NAME = "_SUCCESS"
"""The file that a job writes into a folder when all of its output is there."""

_ENDING = ".parquet"


@dataclass(frozen=True, slots=True)
class ExtractedSources:
    """What documents files hold: archive files and errors about some, all of one collection."""

    collection: str
    deduplicated: bool
    sources: Sequence[ArchiveSource | ReadError]


def extracted_sources(arguments: Iterable[str]) -> ExtractedSources:
    """Return the archive files of documents files, and of documents files below folders.

    Raises SourceError on files that are missing, unreadable, of another kind or version, and on
    folders of an unfinished job; UsageError if they do not belong together.
    """
    collections: dict[str, str] = {}
    ways: dict[bool, str] = {}
    sources: list[ArchiveSource | ReadError] = []
    for path in dict.fromkeys(documents_paths(arguments)):
        notes = documents_notes(path)
        collections.setdefault(notes.collection, str(path))
        ways.setdefault(notes.deduplicated, str(path))
        sources += _sources(path, notes)
    if len(collections) > 1:
        (one, here), (other, there) = list(collections.items())[:2]
        raise UsageError(
            f"these documents are of several collections ({one} in {here}, {other} in {there}); "
            "import those of each collection by a command of its own"
        )
    if len(ways) > 1:
        raise UsageError(
            f"{ways[False]} was extracted with --no-dedup and {ways[True]} without; "
            "import them by two commands"
        )
    return ExtractedSources(next(iter(collections)), next(iter(ways)), sources)


def check_extracted(found: ExtractedSources, options: ImportOptions) -> None:
    """Raise UsageError where documents cannot be imported with these options."""
    if options.collection != found.collection:
        raise UsageError(
            f"the documents are of the collection {found.collection}; leave --collection out, or "
            f"extract the archive files again with --collection {options.collection}"
        )
    if options.deduplicate != found.deduplicated:
        done = "without" if found.deduplicated else "with"
        raise UsageError(
            f"the documents were extracted {done} --no-dedup; import them {done} it too"
        )


def _sources(path: Path, notes: DocumentsNotes) -> Iterator[ArchiveSource | ReadError]:
    for number, file in enumerate(notes.files):
        place = (file.name, file.path, file.size, file.member)
        yield ExtractedFile(*place, documents=str(path.absolute()), number=number)
    for fault in notes.faults:
        error = fault.error
        plain = (error.file, error.offset, error.kind, error.message)
        yield FileError(*plain, fault.path, fault.size, fault.is_refused)


def documents_paths(arguments: Iterable[str]) -> Iterator[Path]:
    """Yield the documents files of arguments: files, and folders of finished jobs.

    Raises SourceError on a missing path.
    """
    for argument in arguments:
        path = Path(argument)
        if is_address(argument):
            raise SourceError(f"{argument} is an address; copy the documents to a folder first")
        if path.is_dir():
            yield from _below(path)
        elif path.exists():
            yield path
        else:
            raise SourceError(f"{argument} is not there; name the output of `nwx spark extract`")


def _below(folder: Path) -> list[Path]:
    if not (folder / SUCCESS_NAME).exists():
        raise SourceError(
            f"{folder} has no {SUCCESS_NAME}: the job that wrote it did not end; run it again"
        )
    found = sorted(path for path in folder.rglob(f"*{_ENDING}") if path.is_file())
    if not found:
        raise SourceError(f"there are no documents files in {folder}")
    return found
