"""Standard input, kept as a file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nwx.errors import SourceError
from nwx.warc.sources import ArchiveSource

_CHUNK_BYTES = 1 << 20


def spooled(source: ArchiveSource, folder: Path, stopping: Callable[[], bool]) -> ArchiveSource:
    """Return standard input as a file: readable by another process, and twice."""
    copy = folder / "stdin"
    try:
        with source.open() as theirs, copy.open("wb") as ours:
            while not stopping() and (chunk := theirs.read(_CHUNK_BYTES)):
                ours.write(chunk)
    except OSError as error:
        raise SourceError(f"standard input cannot be kept in {copy}: {error}") from error
    return replace(source, path=str(copy), size=copy.stat().st_size)
