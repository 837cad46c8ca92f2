"""Reading documents files."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from nwx.errors import SourceError
from nwx.importing.extracted.notes import NOTES_KEY, DocumentsNotes
from nwx.importing.extracted.rows import CAPTURE_ROW_COLUMNS, EXTRACT_ROW_COLUMNS, extract_of
from nwx.model import Extract

_SMALL_COLUMN = "content_language"
"""A column of `Extract` that is read fast, to see which rows have documents."""


def documents_notes(path: Path) -> DocumentsNotes:
    """Return the notes of a documents file.

    Raises SourceError where it cannot be read, is none, or is of another version.
    """
    try:
        found = pl.read_parquet_metadata(path).get(NOTES_KEY)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(f"{path} cannot be read: {_first_line(error)}") from error
    if found is None:
        raise SourceError(f"{path} is no documents file, as `nwx spark extract` writes them")
    try:
        notes = json.loads(found)
    except ValueError as error:
        raise SourceError(f"the notes of {path} cannot be read: {error}") from error
    return DocumentsNotes.from_json(notes, str(path))


class DocumentsFile:
    """A documents file, of which rows are read a part at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file; raises SourceError as `documents_notes` does."""
        self.path = path
        self.notes = documents_notes(path)
        self._rows = pl.scan_parquet(path).select(*CAPTURE_ROW_COLUMNS, *EXTRACT_ROW_COLUMNS)

    def first_row(self, number: int) -> int:
        """Return where the rows of an archive file, given by its number, begin."""
        return sum(file.rows for file in self.notes.files[:number])

    def rows(self, first: int, count: int) -> Iterator[Mapping[str, Any]]:
        """Yield so many rows from one on; raises SourceError where they cannot be read."""
        if not count:
            return
        yield from self._collected(self._rows, first, count).iter_rows(named=True)

    def text_rows(self, first: int, count: int) -> dict[str, int]:
        """Return which rows have the texts of documents, by id, of so many rows from one on.

        Raises SourceError where they cannot be read.
        """
        has_text = pl.col(_SMALL_COLUMN).is_not_null()
        found = self._collected(self._rows.select("document_id", has_text), first, count)
        return {id: first + row for row, (id, is_there) in enumerate(found.rows()) if is_there}

    def extract(self, row: int) -> Extract | None:
        """Return what was extracted from the capture of a row, None where it has no document."""
        [found] = self.rows(row, 1)
        return extract_of(found)

    def _collected(self, rows: pl.LazyFrame, first: int, count: int) -> pl.DataFrame:
        try:
            found = rows.slice(first, count).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise SourceError(f"{self.path} cannot be read: {_first_line(error)}") from error
        if len(found) != count:
            raise SourceError(f"{self.path} has fewer rows than its notes tell; extract it again")
        return found


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
