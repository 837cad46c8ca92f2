"""The archive files that an export reads, and its report."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from nwx.engine.access.rules import Viewer
from nwx.engine.base import Engine
from nwx.exports.extracted.visible_records import SEES_ALL, Visibility
from nwx.model import DEFAULT_COLLECTION, ReadError
from nwx.warc.sources import ArchiveSource, expand

_MEMBER = ".wacz#"


@dataclass(slots=True)
class ExtractReport:
    """The counts of an export of what is extracted from records.

    `present` counts files that an earlier run had written, `hidden` records that access rules left
    out. `errors` are the damages met.
    """

    files: int = 0
    present: int = 0
    records: int = 0
    written: int = 0
    hidden: int = 0
    bytes: int = 0
    seconds: float = 0.0
    errors: list[ReadError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class InputFile:
    """An archive file to read, and its collection."""

    source: ArchiveSource
    collection: str = DEFAULT_COLLECTION


@dataclass(frozen=True, slots=True)
class Inputs:
    """Archive files, what a viewer sees of them, and errors of files that are not among them."""

    files: Sequence[InputFile]
    shown: Visibility = SEES_ALL
    errors: tuple[ReadError, ...] = ()


def ledger_inputs(engine: Engine, seen: Engine, viewer: Viewer, collection: str) -> Inputs:
    """Return the files of an archive, of one collection or all; `seen` is what a viewer sees."""
    found = []
    for file in seen.files():
        if collection in ("", file.collection):
            member = file.name.partition("#")[2] if _MEMBER in file.name else ""
            source = ArchiveSource(file.name, file.path, file.size, member)
            found.append(InputFile(source, file.collection))
    return Inputs(found, Visibility(viewer, engine.access_index().rules()))


def given_inputs(paths: Sequence[str]) -> Inputs:
    """Return the archive files at some paths, as for an import."""
    found = list(expand(paths))
    files = [InputFile(one) for one in found if isinstance(one, ArchiveSource)]
    return Inputs(files, errors=tuple(one for one in found if isinstance(one, ReadError)))
