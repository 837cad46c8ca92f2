"""Links that were inverted elsewhere, as Parquet files: `nwx spark links` writes them.

A folder has `links.json` (how much is in it), `documents/` (a row a
document, in the order of ids), `document_links/` (a row a link of a
document, in the order of the linked URL, the document, kind and anchor
text) and `unmet/` (captures whose outlinks lie in metadata records of
other files). What else is in it is for other programs.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from nwx.errors import ErrorText, SourceError

INVERTED_NOTES = "links.json"
INVERTED_DOCUMENTS = "documents"
INVERTED_LINKS = "document_links"
INVERTED_UNMET = "unmet"
INVERTED_FORMAT = 1

_SUCCESS_FILE = "_SUCCESS"
_ADVICE = ErrorText("run `nwx spark links` of this version")
_SCHEMAS: dict[str, dict[str, Any]] = {
    INVERTED_DOCUMENTS: {
        "id": pl.Binary,
        "precedence": pl.Int64,
        "urlkey": pl.String,
        "url": pl.String,
        "refused": pl.Int64,
    },
    INVERTED_LINKS: {
        "target": pl.String,
        "document": pl.Binary,
        "kind": pl.String,
        "anchor": pl.String,
    },
    INVERTED_UNMET: {"url": pl.String, "timestamp": pl.String},
}


@dataclass(frozen=True, slots=True)
class InvertedNotes:
    """How many rows the files of inverted links have."""

    documents: int
    document_links: int
    unmet: int
    format: int = INVERTED_FORMAT

    def to_json(self) -> bytes:
        """Return the notes as JSON."""
        return json.dumps(asdict(self)).encode()


class InvertedLinks:
    """Inverted links in a folder; what cannot be read raises SourceError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / _SUCCESS_FILE).exists():
            raise SourceError(
                ErrorText(
                    "%(folder)s is no whole output of `nwx spark links`: it has no %(file)s",
                    folder=folder,
                    file=_SUCCESS_FILE,
                )
            )
        with self._reading(INVERTED_NOTES):
            found = json.loads((folder / INVERTED_NOTES).read_text(encoding="utf-8"))
            if found["format"] != INVERTED_FORMAT:
                raise SourceError(
                    ErrorText(
                        "%(folder)s has format %(found)s, this nwx reads %(read)s; %(advice)s",
                        folder=folder,
                        found=str(found["format"]),
                        read=str(INVERTED_FORMAT),
                        advice=_ADVICE,
                    )
                )
            self.notes = InvertedNotes(**found)

    def documents(self) -> pl.DataFrame:
        """Return the documents: id, precedence, urlkey, URL, number of links without urlkey."""
        frames = list(self._tables(INVERTED_DOCUMENTS, self.notes.documents))
        schema = _SCHEMAS[INVERTED_DOCUMENTS]
        return pl.concat([pl.DataFrame(schema=schema), *frames])

    def links(self, rows: int) -> Iterator[pl.DataFrame]:
        """Stream the links, so many at a time: linked urlkey, id of the document, kind, anchor."""
        held: list[pl.DataFrame] = []
        for frame in self._tables(INVERTED_LINKS, self.notes.document_links, rows):
            held.append(frame)
            while sum(map(len, held)) >= rows:
                together = pl.concat(held)
                yield together[:rows]
                held = [together[rows:]]
        if sum(map(len, held)):
            yield pl.concat(held)

    def unmet(self) -> Iterator[tuple[str, str]]:
        """Stream URL and timestamp of the captures whose outlinks were not found."""
        for frame in self._tables(INVERTED_UNMET, self.notes.unmet):
            yield from frame.iter_rows()

    def _tables(
        self, name: str, expected: int, at_once: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows of the files of a folder in order; all are as many as expected."""
        columns = [pl.col(column).cast(kind) for column, kind in _SCHEMAS[name].items()]
        read = 0
        with self._reading(name):
            for path in sorted((self.folder / name).glob("*.parquet")):
                rows = pl.scan_parquet(path).select(columns)
                size = rows.select(pl.len()).collect().item()
                for begin in range(0, size, at_once or size):
                    frame = rows.slice(begin, at_once).collect()
                    if sum(frame.null_count().row(0)):
                        raise SourceError(
                            ErrorText(
                                "%(path)s has a row without a value; %(advice)s",
                                path=path,
                                advice=_ADVICE,
                            )
                        )
                    yield frame
                read += size
            if read != expected:
                raise SourceError(
                    ErrorText(
                        "%(path)s has %(read)s rows, its notes tell %(expected)s; %(advice)s",
                        path=self.folder / name,
                        read=read,
                        expected=expected,
                        advice=_ADVICE,
                    )
                )

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
            words = str(error).strip().splitlines()[:1] or [type(error).__name__]
            raise SourceError(
                ErrorText(
                    "%(path)s cannot be read: %(reason)s; %(advice)s",
                    path=self.folder / name,
                    reason=words[0],
                    advice=_ADVICE,
                )
            ) from error
