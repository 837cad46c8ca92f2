"""The writer of the tantivy index of an archive, and of segments made by other processes.

A segment is made in a separate folder, as a complete index. To adopt it, its files are moved into
the folder of the index and its name is added to `meta.json`, which is replaced as a whole, as
tantivy does with each commit. Before that, `.managed.json` lists the files, so that tantivy deletes
them if the writer is killed in between.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import tantivy

from nwx.bulk.process_limits import return_free_memory
from nwx.engine.embedded.documents.tantivy_index import (
    NUM,
    DocumentSearcher,
    Packer,
    ReadIndex,
    documents_by_num,
    entry_of,
    nums_query,
    open_tantivy,
    schema,
    tantivy_errors,
)
from nwx.engine.entries import IndexEntry
from nwx.errors import EngineVersionError

_SEGMENT_HEAP_BYTES = 40_000_000
META, _MANAGED = "meta.json", ".managed.json"


class SegmentMaker:
    """Indexes documents in a new folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with tantivy_errors():
            self._writer = open_tantivy(schema(), folder).writer(_SEGMENT_HEAP_BYTES, num_threads=1)

    def add(self, document: tantivy.Document) -> None:
        """Index a document."""
        with tantivy_errors():
            self._writer.add_document(document)

    def finish(self) -> Path:
        """Commit durably; return the folder."""
        with tantivy_errors():
            self._writer.commit()
            self._writer.wait_merging_threads()
        return self._folder


def segment_entries(folder: Path, nums: Collection[int]) -> Iterator[tuple[int, IndexEntry]]:
    """Yield the numbers and entries of documents in the folder of an index."""
    index = open_tantivy(schema(), folder)
    with tantivy_errors():
        index.reload()
    for num, document in documents_by_num(DocumentSearcher(index.searcher()), nums):
        yield num, entry_of(document)


def adopt_segments(index: Path, folders: Iterable[Path], instead_of: Collection[str] = ()) -> int:
    """Add the segments of these folders to an index; return its number of segments.

    They replace the segments with the ids `instead_of`, whose files stay.

    No tantivy writer may be open, and the index must be reopened afterwards. Readers see all of the
    segments or none.
    """
    folders = list(folders)
    meta, managed = read_meta(index), _read(index / _MANAGED)
    meta["segments"] = [one for one in meta["segments"] if one["segment_id"] not in instead_of]
    files = [file for folder in folders for file in folder.iterdir() if _is_of_segment(file)]
    replace_json(index / _MANAGED, [*managed, *(file.name for file in files)])
    for folder in folders:
        meta["segments"] += read_meta(folder)["segments"]
    for file in files:
        file.rename(index / file.name)
    sync(index)
    replace_json(index / META, meta)
    for folder in folders:
        shutil.rmtree(folder)
    return len(meta["segments"])


def read_meta(index: Path) -> dict[str, Any]:
    """Return the parsed `meta.json` of an index, with its segments."""
    found: dict[str, Any] = _read(index / META)
    return found


def _is_of_segment(file: Path) -> bool:
    return file.name != META and not file.name.startswith(".")


def _read(file: Path) -> Any:
    with tantivy_errors():
        return json.loads(file.read_text(encoding="utf-8"))


def replace_json(file: Path, content: object) -> None:
    """Replace a JSON file atomically and durably."""
    new = file.with_name(f"{file.name}.new")
    with new.open("w", encoding="utf-8") as stream:
        json.dump(content, stream)
        stream.flush()
        os.fsync(stream.fileno())
    new.rename(file)
    sync(file.parent)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk, so that they survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_ID_DIGITS = 32


def rewrite_segments(index: Path, work: Path) -> int:
    """Rewrite the segments that have deleted documents; return the number of these segments.

    No tantivy writer may be open, and the index must be reopened afterwards. `work` is a folder
    next to the index for temporary files.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    meta = read_meta(index)
    wanted = [one for one in meta["segments"] if one["deletes"]]
    for segment in wanted:
        made = _copied(_alone(index, meta, segment, work / "old"), work / "new")
        adopt_segments(index, [made] if made else [], [segment["segment_id"]])
        shutil.rmtree(work / "old")
    _remove_unknown(index)
    shutil.rmtree(work)
    return len(wanted)


def _alone(index: Path, meta: dict[str, Any], segment: dict[str, Any], folder: Path) -> Path:
    """Return a folder with an index of one segment only, as hard links to its files."""
    folder.mkdir()
    for file in index.glob(f"{_file_id(segment)}.*"):
        os.link(file, folder / file.name)
    (folder / META).write_text(json.dumps({**meta, "segments": [segment]}), encoding="utf-8")
    return folder


def _copied(old: Path, new: Path) -> Path | None:
    """Reindex the documents of `old` in `new` and return it; None without documents."""
    index = open_tantivy(schema(), old)
    with tantivy_errors():
        index.reload()
        searcher = DocumentSearcher(index.searcher())
    if not searcher.num_docs:
        return None
    new.mkdir()
    maker, packer = SegmentMaker(new), Packer()
    for num, entry in _entries(searcher):
        maker.add(packer.document(num, entry))
    return maker.finish()


def _entries(searcher: DocumentSearcher) -> Iterator[tuple[int, IndexEntry]]:
    found = searcher.search(
        tantivy.Query.all_query(),
        searcher.num_docs,
        count=False,
        order_by_field=NUM,
        order=tantivy.Order.Asc,
    )
    for num, address in found.hits:
        yield int(num), entry_of(searcher.doc(address))


def _remove_unknown(index: Path) -> None:
    """Delete the files of segments that an index no longer lists."""
    known = {_file_id(segment) for segment in read_meta(index)["segments"]}
    for file in index.iterdir():
        name = file.name.partition(".")[0]
        if len(name) == _ID_DIGITS and name not in known:
            file.unlink()


def _file_id(segment: dict[str, Any]) -> str:
    return str(segment["segment_id"]).replace("-", "")


MERGED_SEGMENTS = 15
"""The number of segments from which tantivy may merge some; large imports make them of 4 MB."""

_HEAP_BYTES = 20_000_000
"""For one thread, as most documents come in adopted segments. tantivy needs at least 15 MB."""
_NOBODY = 0  # numbers of documents begin at 1


class TextWriter:
    """Adds documents to the index of a folder and deletes them.

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
        """Delete documents by number, uncommitted ones included."""
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
            return_free_memory()  # of merges, some 3 MB

    def erase(self, work: Path) -> None:
        """Remove deleted documents from the files; additions must be committed before.

        `work` is a folder for temporary files.
        """
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
            # Files left by a killed writer would collide with new ones of the same name.
            self._writer.garbage_collect_files()
            # tantivy reuses the last commit's stamp for a new writer's first operation, and merges
            # of that commit's segments can miss it: this first operation has no effect.
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
