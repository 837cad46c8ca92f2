"""Tantivy segments made by processes other than the writer, and their adoption.

A segment is made in a separate folder, as an index of its own. To adopt it, its files are moved
into the folder of the index and its name is added to `meta.json`, which tantivy replaces as a
whole with each commit, as is done here. Before that, `.managed.json` lists the files, so that
tantivy deletes them if the writer is killed in between.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import tantivy

from nwx.engine.embedded.documents.tantivy_index import (
    NUM,
    DocumentSearcher,
    Packer,
    documents_by_num,
    entry_of,
    open_tantivy,
    schema,
    tantivy_errors,
)
from nwx.engine.entries import IndexEntry

_HEAP_BYTES = 40_000_000
META, _MANAGED = "meta.json", ".managed.json"


class SegmentMaker:
    """What indexes documents in a new folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with tantivy_errors():
            self._writer = open_tantivy(schema(), folder).writer(_HEAP_BYTES, num_threads=1)

    def add(self, document: tantivy.Document) -> None:
        """Index a document."""
        with tantivy_errors():
            self._writer.add_document(document)

    def finish(self) -> Path:
        """Return the folder, once all is safe on disk."""
        with tantivy_errors():
            self._writer.commit()
            self._writer.wait_merging_threads()
        return self._folder


def segment_entries(folder: Path, nums: Collection[int]) -> Iterator[tuple[int, IndexEntry]]:
    """Give the entries of documents of such a folder, by their numbers."""
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
    _replace(index / _MANAGED, [*managed, *(file.name for file in files)])
    for folder in folders:
        meta["segments"] += read_meta(folder)["segments"]
    for file in files:
        file.rename(index / file.name)
    _sync(index)
    _replace(index / META, meta)
    for folder in folders:
        shutil.rmtree(folder)
    return len(meta["segments"])


def read_meta(index: Path) -> dict[str, Any]:
    """Return what tantivy notes of an index: its segments, and more."""
    found: dict[str, Any] = _read(index / META)
    return found


def _is_of_segment(file: Path) -> bool:
    return file.name != META and not file.name.startswith(".")


def _read(file: Path) -> Any:
    with tantivy_errors():
        return json.loads(file.read_text(encoding="utf-8"))


def _replace(file: Path, content: object) -> None:
    """Write a file so that it is the old one or the new one, whatever happens."""
    new = file.with_name(f"{file.name}.new")
    with new.open("w", encoding="utf-8") as stream:
        json.dump(content, stream)
        stream.flush()
        os.fsync(stream.fileno())
    new.rename(file)
    _sync(file.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_ID_DIGITS = 32


def rewrite_segments(index: Path, work: Path) -> int:
    """Rewrite the segments that have deleted documents; return how many there were.

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
    """Return a folder with an index of one segment only, as links to its files."""
    folder.mkdir()
    for file in index.glob(f"{_file_id(segment)}.*"):
        os.link(file, folder / file.name)
    (folder / META).write_text(json.dumps({**meta, "segments": [segment]}), encoding="utf-8")
    return folder


def _copied(old: Path, new: Path) -> Path | None:
    """Return a folder with the documents of `old`, indexed anew; None without documents."""
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
    """Remove the files of segments that do not belong to an index any more."""
    known = {_file_id(segment) for segment in read_meta(index)["segments"]}
    for file in index.iterdir():
        name = file.name.partition(".")[0]
        if len(name) == _ID_DIGITS and name not in known:
            file.unlink()


def _file_id(segment: dict[str, Any]) -> str:
    return str(segment["segment_id"]).replace("-", "")
