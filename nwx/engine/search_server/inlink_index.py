"""The documents of a server with their links in bulk, and the inlinks built of them."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b

import numpy as np

from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import StoredBuild
from nwx.engine.inlinks.entries import table_entries
from nwx.engine.inlinks.inlink_index import DocumentStates, InlinkIndex, LinkingDocument
from nwx.engine.inlinks.table import InlinkTable
from nwx.engine.search_server.blobs import ServerBlobs
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.dates.indices import ServerDatesIndices
from nwx.engine.search_server.pages import entries_by_id, pages
from nwx.engine.search_server.server import Server
from nwx.model import IndexName
from nwx.settings import ServerSettings, build_folder

_PAGE = 5_000
_AT_ONCE = 500
_FIELDS = "id,url,urlkey,links,links_text,links_kind"


class ServerInlinkIndex(ServerBlobs, InlinkIndex):
    """The documents of a server, and the blobs and entries of their inlinks there."""

    def __init__(
        self,
        server: Server,
        name: Callable[[IndexName], str],
        dates: ServerDatesIndices,
        settings: ServerSettings,
        copies: str = "",
    ) -> None:
        folder = build_folder(settings, server.address, IndexName.INLINKS) / copies
        super().__init__(server, IndexName.INLINKS, name(IndexName.INLINKS), settings, folder)
        self._documents = name(IndexName.DOCUMENTS)
        self._main_dates = name(IndexName.DATES)
        self._dates = dates

    def _entries(self, build: StoredBuild) -> Iterator[IndexEntry]:
        return table_entries(InlinkTable(self.folder, build))

    def stamp(self) -> str:
        return self._last_changes([self._documents, self._main_dates, *self._dates.others()])

    def document_states(self) -> Iterator[DocumentStates]:
        for index in (self._documents, self._main_dates, *self._dates.others()):
            refresh(self._server, index)
        body = {"query": {"match_all": {}}, "_source": ["id"], "seq_no_primary_term": True}
        for page in pages(self._server, self._documents, body, [{"id": "asc"}], _PAGE):
            ids = [hit["_source"]["id"] for hit in page]
            dates = self._dates.read(ids)
            states = [
                _state(hit["_seq_no"], dates[id].seen if id in dates else ())
                for hit, id in zip(page, ids, strict=True)
            ]
            yield DocumentStates(bytes.fromhex("".join(ids)), np.array(states, dtype=np.uint64))

    def linking_documents(self, ids: Sequence[bytes]) -> Iterator[LinkingDocument]:
        for begin in range(0, len(ids), _AT_ONCE):
            wanted = [id.hex() for id in ids[begin : begin + _AT_ONCE]]
            found = entries_by_id(self._server, self._documents, wanted, _FIELDS)
            dates = self._dates.read(wanted)
            for id in wanted:
                if id in found:
                    seen = dates[id].seen if id in dates else ()
                    yield _document(id, found[id]["_source"], seen)


def _document(id: str, entry: IndexEntry, seen: Sequence[tuple[str, str]]) -> LinkingDocument:
    links = entry.get("links", [])
    missing = [""] * len(links)
    return LinkingDocument(
        bytes.fromhex(id),
        entry["url"],
        entry["urlkey"],
        links,
        entry.get("links_text", missing),
        entry.get("links_kind", ["a"] * len(links)),
        seen,
    )


def _state(number: int, seen: Sequence[tuple[str, str]]) -> int:
    text = " ".join([str(number), *(f"{name}/{timestamp}" for timestamp, name in sorted(seen))])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
