"""What the ledger keeps of errors that concern a file as a whole."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from nwx.model import UNREADABLE, ReadError, SourceFile
from nwx.warc.sources import ArchiveSource, FileError, source_name


def error_entries(
    errors: Iterable[ReadError], collection: str, ledger: Mapping[str, SourceFile]
) -> list[SourceFile]:
    """Return the ledger entries of files that were not read, or not only, because of errors.

    `ledger` maps names to the entries that there are: one of a file that
    was imported stays as it is.
    """
    of_file: defaultdict[str, list[FileError]] = defaultdict(list)
    for error in errors:
        if isinstance(error, FileError):
            of_file[source_name(error.file)].append(error)
    return [
        _entry(collection, name, own)
        for name, own in of_file.items()
        if name not in ledger or tells_errors_only(ledger[name])
    ]


def _entry(collection: str, name: str, errors: list[FileError]) -> SourceFile:
    refused = any(error.is_refused for error in errors)
    counts = {"errors": len(errors)} | ({UNREADABLE: 1} if refused else {})
    path, size = errors[0].path, errors[0].size
    return SourceFile(collection, name, path, size, "", finished=not refused, counts=counts)


def outdated_entries(
    ledger: Mapping[str, SourceFile],
    sources: Iterable[ArchiveSource],
    entries: Collection[SourceFile],
) -> list[SourceFile]:
    """Return those of the ledger that tell of errors which files do not have any more."""
    members = {source.path for source in sources if source.member}
    fresh = {entry.name for entry in entries}
    return [
        entry
        for name, entry in ledger.items()
        if entry.path in members and tells_errors_only(entry) and name not in fresh
    ]


def with_error(entry: SourceFile | None, new: SourceFile) -> SourceFile:
    """Return a ledger entry with one error more, `new` where there is none."""
    if entry is None or entry.counts.get(UNREADABLE):
        return replace(new, counts={"errors": 1, UNREADABLE: 1})
    return with_errors(entry, 1)


def with_errors(entry: SourceFile, count: int) -> SourceFile:
    """Return a ledger entry with so many errors more."""
    return replace(entry, counts={**entry.counts, "errors": entry.counts.get("errors", 0) + count})


def tells_errors_only(entry: SourceFile) -> bool:
    """Tell whether a ledger entry is of a file of which nothing was read."""
    return bool(entry.counts.get(UNREADABLE)) or not entry.checksum
