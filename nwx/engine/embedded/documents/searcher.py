"""The tantivy index of a folder, read: its failures, and folders that nobody may write to."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tantivy

from nwx.engine.embedded.documents.analyzer import ANALYZER, text_analyzer
from nwx.errors import EngineError, EngineVersionError
from nwx.values.zstd import zstd


class TantivyError(EngineError):
    """An error from tantivy on the files of an index; `Folder.our_errors` translates it."""


@contextmanager
def tantivy_errors() -> Iterator[None]:
    """Raise what tantivy raises, ValueError for whatever goes wrong, as TantivyError.

    So do documents that cannot be decoded, which come from a damaged file.
    """
    try:
        yield
    except (ValueError, OSError, zstd.ZstdError) as error:
        raise TantivyError(str(error)) from error
    except BaseException as error:
        # What Rust panics about, as on damaged files, is no Exception and has no name to import.
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise TantivyError.translated("it is damaged: %(reason)s", reason=error) from error


def open_tantivy(schema: tantivy.Schema, folder: Path) -> tantivy.Index:
    """Return the index of a folder, created if missing.

    Raises EngineVersionError on an index with other fields.
    """
    with tantivy_errors():
        if tantivy.Index.exists(str(folder)) and tantivy.Index.open(str(folder)).schema != schema:
            raise EngineVersionError.translated(
                "%(folder)s was made by an older version of nwx, which indexed words and "
                "fields otherwise; write to the archive once, as `nwx import` does, to bring it "
                "forward",
                folder=folder,
            )
        index = tantivy.Index(schema, str(folder))
        index.register_tokenizer(ANALYZER, text_analyzer())
        index.config_reader("manual")
        return index


class DocumentSearcher:
    """The documents of a moment, as tantivy finds them; it has the methods of tantivy's own."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher

    @property
    def num_docs(self) -> int:
        """The number of documents."""
        return self._searcher.num_docs

    def search(self, query: tantivy.Query, limit: int, **options: Any) -> tantivy.SearchResult:
        """Return the first documents of a query."""
        with tantivy_errors():
            return self._searcher.search(query, limit, **options)

    def aggregate(self, query: tantivy.Query, asked: dict[str, Any]) -> dict[str, Any]:
        """Return aggregations of the documents of a query."""
        with tantivy_errors():
            found: dict[str, Any] = self._searcher.aggregate(query, asked)
            return found

    def doc(self, address: tantivy.DocAddress) -> tantivy.Document:
        """Return the stored fields of a document."""
        with tantivy_errors():
            return self._searcher.doc(address)

    def fast_field_values(self, field: str, places: list[tantivy.DocAddress]) -> list[Any]:
        """Return the values of a field of the documents at these places."""
        with tantivy_errors():
            return self._searcher.fast_field_values(field, places)

    def doc_freq(self, field: str, term: str) -> int:
        """Return how many documents have a term, counting some that are deleted."""
        with tantivy_errors():
            return self._searcher.doc_freq(field, term)

    def terms_with_prefix(self, field: str, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Return the most frequent terms with a beginning, and how many documents have each."""
        with tantivy_errors():
            return self._searcher.terms_with_prefix(field, beginning, limit=limit)


class ReadIndex:
    """The index of a folder, open for reading.

    tantivy locks a file of the folder before reading. Without permission for that, it reads links
    to the files, in a temporary folder.
    """

    def __init__(self, schema: tantivy.Schema, folder: Path) -> None:
        self._folder = folder
        self._links: tempfile.TemporaryDirectory[str] | None = None
        if not os.access(folder, os.W_OK):
            self._links = tempfile.TemporaryDirectory(prefix="nwx-read-only-")
            self._link()
        self._index = open_tantivy(schema, Path(self._links.name) if self._links else folder)

    def searcher(self) -> DocumentSearcher:
        """Return the documents of the last commit."""
        self._link()
        with tantivy_errors():
            self._index.reload()
            return DocumentSearcher(self._index.searcher())

    def _link(self) -> None:
        """Link the files that have come since, as another machine may write them."""
        if self._links is None:
            return
        for file in self._folder.iterdir():
            link = Path(self._links.name, file.name)
            if not link.is_symlink() and file.suffix != ".lock":
                link.symlink_to(file.resolve())

    def close(self) -> None:
        """Remove the links."""
        if self._links is not None:
            self._links.cleanup()
