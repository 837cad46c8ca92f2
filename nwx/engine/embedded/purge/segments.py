"""Segments of tantivy written anew without the documents that were deleted.

A deleted document stays in the files of its segment, text and words, until
tantivy merges this segment with others, which may be never. So each segment
with deleted documents is read and indexed again, and the new one takes its
place in `meta.json`, which is replaced as a whole.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tantivy

from nwx.engine.embedded.documents.searcher import DocumentSearcher, open_tantivy, tantivy_errors
from nwx.engine.embedded.documents.tantivy_index import NUM, Packer, entry_of, schema
from nwx.engine.embedded.stage.segments import META, SegmentMaker, adopt_segments, read_meta
from nwx.engine.entries import IndexEntry

_ID_DIGITS = 32


def rewrite_segments(index: Path, work: Path) -> int:
    """Write the segments with deleted documents anew; return how many there were.

    No writer of tantivy may be open, and the index has to be opened anew
    afterwards. `work` is a folder beside the index for what is being made.
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
    """Return a folder with the documents of another, indexed anew; None where there are none."""
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
