"""The anchors of a build without links from documents hidden from a viewer."""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.anchors.table import AnchorTable
from nwx.engine.anchors.table_writer import write_anchor_table
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.table import InlinkTable, inlink_table
from nwx.engine.inlinks.visible_table import DatesOf, VisibleTable
from nwx.query.question import HiddenDocuments

_FOLDER = "visible"
_KEPT_FILES = 4


def visible_anchors(
    store: BlobStore, whole: AnchorTable, hidden: HiddenDocuments, dates_of: DatesOf
) -> AnchorTable:
    """Return the anchors of the current build without links from hidden documents.

    They are written next to the build on first use. Returns `whole` if no hidden document has
    links.
    """
    table = inlink_table(store)
    if table is None:
        return whole
    visible = VisibleTable(table, hidden, dates_of)
    gone = visible.changed & (np.diff(visible.documents["cell_starts"]) == 0)
    if not _have_links(table, gone):
        return whole
    name = hashlib.blake2b(np.flatnonzero(gone).tobytes(), digest_size=12).hexdigest()
    path = store.folder / _FOLDER / f"{table.notes.number}-{table.notes.anchors}-{name}"
    if not path.exists():
        return _written(visible, whole, path)
    os.utime(path)
    return AnchorTable(path)


def forget_visible_anchors(store: BlobStore) -> None:
    """Remove the files of anchors written by `visible_anchors`; they are rebuilt on demand.

    Files of an earlier build contain data of that build.
    """
    folder = store.folder / _FOLDER
    for path in list(folder.iterdir()) if folder.exists() else ():
        if path.is_file():
            path.unlink(missing_ok=True)


def _have_links(table: InlinkTable, documents: Array) -> bool:
    """Return whether any of the documents (`bool[documents]`) has links."""
    ranges = map(table.range, range(len(table.notes.ranges)))
    return any(bool(documents[one.arrays["document"]].any()) for one in ranges)


def _written(visible: VisibleTable, whole: AnchorTable, path: Path) -> AnchorTable:
    """Return the anchors of a table, written to a file, or to none where that is not allowed."""
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
    folder = path.parent if os.access(path.parent, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = Path(work) / path.name
        write_anchor_table(visible, made, _Words(whole).of)
        if folder is None:
            return AnchorTable(made)  # stays readable when its name is gone
        made.replace(path)
    files = (one for one in path.parent.iterdir() if one.is_file())
    for old in sorted(files, key=lambda one: one.stat().st_mtime)[:-_KEPT_FILES]:
        old.unlink(missing_ok=True)
    return AnchorTable(path)


class _Words:
    """The words of anchor texts, as the table of the whole build has them."""

    def __init__(self, whole: AnchorTable) -> None:
        self._whole = whole
        self._numbers = {text: number for number, text in enumerate(whole.texts.all())}

    def of(self, text: str) -> Sequence[str]:
        """Return the words of an anchor text."""
        return self._whole.terms.take(self._whole.words(self._numbers[text]))
