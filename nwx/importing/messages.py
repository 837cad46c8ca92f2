"""What a parent and its workers tell each other."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nwx.errors import NwxError
from nwx.importing.report import Outcome
from nwx.model import Batch, ReadError, SourceFile
from nwx.sources import Source


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file to import.

    `entry` is what the ledger knows of it. `without_text` maps offsets of
    records that are not to be extracted to the reason in words.
    `path` is where the file lies as its owner knows it.
    """

    source: Source
    path: str
    entry: SourceFile | None
    without_text: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a file, ready to be written, and what it adds to the report."""

    batch: Batch
    errors: tuple[ReadError, ...]
    records: Mapping[str, int]
    candidates: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a file, said after its last part."""

    outcome: Outcome
    errors: tuple[ReadError, ...] = ()


Message = Part | Verdict | NwxError
"""What a worker says: parts of a file and a verdict, or why it cannot work."""
