"""What writes to the tantivy index of an archive."""

import shutil
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import tantivy

from nwx.engine.embedded.documents.tantivy_index import (
    NUM,
    DocumentSearcher,
    Packer,
    ReadIndex,
    entry_of,
    nums_query,
    open_tantivy,
    schema,
    tantivy_errors,
)
from nwx.engine.embedded.segments import adopt_segments, rewrite_segments
from nwx.errors import EngineVersionError

MERGED_SEGMENTS = 8
"""From so many segments on tantivy may merge some."""

_HEAP_BYTES = 20_000_000
"""For one thread: most documents come in segments that others made. tantivy wants 15 MB."""
_NOBODY = 0  # numbers of documents begin at 1


class TextWriter:
    """Writer that adds documents to the index of a folder and deletes them.

    Segments are merged in the background between two commits.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index = open_tantivy(schema(), folder)
        self._writer: tantivy.IndexWriter | None = None
        self._changed = False
        self._segments: list[Path] = []
        self._unknown: list[int] = []
        self._adopted = False

    def count(self) -> int:
        """Return the number of documents committed."""
        with tantivy_errors():
            self._index.reload()
            return self._index.searcher().num_docs

    def nums(self) -> set[int]:
        """Return the numbers of all documents committed."""
        searcher = DocumentSearcher(self._index.searcher())
        most = max(searcher.num_docs, 1)
        found = searcher.search(
            tantivy.Query.all_query(), most, order_by_field=NUM, order=tantivy.Order.Asc
        )
        return {int(num) for num, _ in found.hits}

    def add(self, documents: Iterable[tantivy.Document]) -> None:
        """Add documents with the next commit."""
        with tantivy_errors():
            for document in documents:
                self._open_writer().add_document(document)
                self._changed = True

    def delete(self, nums: Collection[int]) -> None:
        """Delete the documents of these numbers, those added before included."""
        if nums:
            with tantivy_errors():
                self._open_writer().delete_documents_by_query(nums_query(nums))
            self._changed = True

    def add_segment(self, folder: Path) -> None:
        """Add the documents of an index that another process made, with the next commit."""
        self._segments.append(folder)

    def forget(self, nums: Iterable[int]) -> None:
        """Mark documents unknown to SQLite for deletion after the commit of added ones."""
        self._unknown.extend(nums)

    def commit(self) -> None:
        """Write additions and deletions to disk durably."""
        if self._writer is not None and self._changed:
            with tantivy_errors():
                self._writer.commit()
            self._changed = False
        if self._segments:
            self.finish()
            self._adopted = adopt_segments(self._folder, self._segments) >= MERGED_SEGMENTS
            self._segments = []
            self._index = open_tantivy(schema(), self._folder)

    def tidy(self) -> None:
        """Delete the documents passed to `forget` and start merging adopted segments."""
        unknown, adopted = self._unknown, self._adopted
        self._unknown, self._adopted = [], False
        if unknown or adopted:
            self.delete(unknown)
            with tantivy_errors():
                self._open_writer().commit()
            self._changed = False

    def finish(self) -> None:
        """Wait until segments are merged."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with tantivy_errors():
                writer.wait_merging_threads()

    def erase(self, work: Path) -> None:
        """Remove deleted documents from the files; additions must be committed before.

        `work` is a folder for temporary files.
        """
        # Imported here: hardly any archive is ever purged.
        self.finish()
        with tantivy_errors():
            rewrite_segments(self._folder, work)
        self._index = open_tantivy(schema(), self._folder)

    def drop(self) -> None:
        """Discard uncommitted changes."""
        self._writer = None
        self._changed = False
        self._segments, self._unknown = [], []

    def _open_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(_HEAP_BYTES, num_threads=1)
            # Files of a killed writer would be in the way of new ones of the same name.
            self._writer.garbage_collect_files()
            # tantivy gives a new writer's first operation the stamp of the last commit over
            # again, and merges of segments of that commit can miss it: let it be no loss.
            self._writer.delete_documents_by_query(nums_query([_NOBODY]))
        return self._writer


def has_older_index(folder: Path) -> bool:
    """Return whether the index of a folder has another schema, or its rebuild was interrupted."""
    if folder.with_name(f"{folder.name}.old").exists():
        return True
    if not (folder / "meta.json").exists():
        return False
    try:
        ReadIndex(schema(), folder).close()
    except EngineVersionError:
        return True
    return False


def rebuild_older_index(folder: Path) -> None:
    """Reindex the documents of a folder if its index has another schema.

    The caller holds the archive's lock. The new index replaces the old one at the end; the
    leftovers of an interrupted rebuild are cleaned up first.
    """
    old, new = folder.with_name(f"{folder.name}.old"), folder.with_name(f"{folder.name}.new")
    if old.exists() and not (folder / "meta.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        old.rename(folder)
    for left_behind in (old, new):
        shutil.rmtree(left_behind, ignore_errors=True)
    if not has_older_index(folder):
        return
    with tantivy_errors():
        index = tantivy.Index.open(str(folder))
    new.mkdir()
    writer, packer = TextWriter(new), Packer()
    writer.add(
        packer.document(num, entry_of(document))
        for num, document in _documents(DocumentSearcher(index.searcher()))
    )
    writer.commit()
    writer.finish()
    folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old)


def _documents(searcher: DocumentSearcher) -> Iterator[tuple[int, tantivy.Document]]:
    everything, most = tantivy.Query.all_query(), max(searcher.num_docs, 1)
    found = searcher.search(everything, most, order_by_field=NUM, order=tantivy.Order.Asc)
    for num, address in found.hits:
        yield int(num), searcher.doc(address)
