"""Bulk reads of the documents of a folder with their links, and the inlinks built from them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from nwx.bulk.progress import batches
from nwx.engine.embedded import reader
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.embedded.facet_store import Connect
from nwx.engine.facet_store import BlobFolder
from nwx.engine.inlinks.inlink_index import DocumentStates, InlinkIndex, LinkingDocument

_ROWS = 50_000
_AT_ONCE = 1_000
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class EmbeddedInlinkIndex(BlobFolder, InlinkIndex):
    """Documents of a folder, and inlink blobs in a subfolder."""

    def __init__(
        self,
        folder: Path,
        connect: Connect,
        view: Callable[[], ArchiveView],
        stamp: Callable[[], str],
    ) -> None:
        super().__init__(folder)
        self._connect, self._view, self._stamp = connect, view, stamp

    def stamp(self) -> str:
        return self._stamp()

    def document_states(self) -> Iterator[DocumentStates]:
        command = "SELECT id, num, seq FROM documents JOIN ids USING (num) ORDER BY num"
        with self._connect() as db:
            sums = self._view().columns.date_sums
            rows = db.execute(command)
            while found := rows.fetchmany(_ROWS):
                ids, nums, seqs = zip(*found, strict=True)
                written = np.array(seqs, dtype=np.uint64) * _SPREAD
                yield DocumentStates(b"".join(ids), written + sums[np.array(nums)])

    def linking_documents(self, ids: Sequence[bytes]) -> Iterator[LinkingDocument]:
        with self._connect() as db:
            view = self._view()
            for some in batches(ids, _AT_ONCE):
                wanted = [id.hex() for id in some]
                yield from _documents(view, reader.nums(db, wanted))


def _documents(view: ArchiveView, nums: Sequence[int]) -> Iterator[LinkingDocument]:
    found = tantivy_index.documents_by_num(view.searcher, nums)
    for num, document in found:
        head, links = tantivy_index.links_of(document)
        count = len(links.links)
        yield LinkingDocument(
            bytes.fromhex(head.id),
            head.url,
            head.urlkey,
            links.links,
            _filled(links.links_text, count, ""),
            _filled(links.links_kind, count, "a"),
            view.columns.seen_pairs(num),
        )


def _filled(values: list[str], count: int, missing: str) -> list[str]:
    return values if len(values) == count else [*values, *[missing] * count][:count]
