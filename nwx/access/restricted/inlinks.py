"""The links of an archive that a viewer may see: between visible pages and visible URLs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from nwx.access.restricted.hidden_urls import HiddenUrls
from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.facet_store import StoredBuild
from nwx.engine.inlinks.inlink_index import ID_BYTES, DocumentStates, InlinkIndex, LinkingDocument
from nwx.engine.inlinks.table import InlinkTable
from nwx.engine.inlinks.visible_table import VisibleTable
from nwx.errors import EngineError, ErrorText
from nwx.query.hidden import HiddenDocuments


class RestrictedInlinkIndex(InlinkIndex):
    """What a viewer may see of the inlinks of an engine; `table` gives them, no blob does."""

    def __init__(
        self,
        engine: Engine,
        decisions: Decisions,
        urls: HiddenUrls,
        hidden: Callable[[], HiddenDocuments],
    ) -> None:
        self._engine, self._decisions, self._urls = engine, decisions, urls
        self._index = engine.inlink_index()
        self._hidden = hidden
        self._known: tuple[str, VisibleTable] | None = None

    @property
    def folder(self) -> Path:  # type: ignore[override]
        """Where blobs would lie."""
        return self._index.folder

    def stamp(self) -> str:
        """Return a text that differs whenever documents or dates were written or deleted."""
        return self._index.stamp()

    def table(self) -> InlinkTable | None:
        """Return the links of the current build that are visible, None where there is no build."""
        version = self.version()
        known = self._known
        if known is None or known[0] != version:
            table = self._index.table()
            if table is None:
                return None
            shown = VisibleTable(table, self._hidden(), self._engine.dates, self._hidden_keys)
            known = self._known = version, shown
        return known[1]

    def _hidden_keys(self, keys: Sequence[str]) -> set[str]:
        if not keys or not self._decisions.touches(keys[0], f"{keys[-1]}\x00"):
            return set()
        return self._urls.keys_among(keys)

    def document_states(self) -> Iterator[DocumentStates]:
        """Stream the visible documents with their states."""
        for some in self._index.document_states():
            raw = [some.ids[at : at + ID_BYTES] for at in range(0, len(some.ids), ID_BYTES)]
            visible = self._visible(raw)
            kept = np.array([id in visible for id in raw], dtype=bool)
            ids = b"".join(id for id in raw if id in visible)
            yield DocumentStates(ids, some.states[kept])

    def linking_documents(self, ids: Sequence[bytes]) -> Iterator[LinkingDocument]:
        """Stream the visible documents of these ids, without links to hidden URLs."""
        hidden = self._hidden()
        for document in self._index.linking_documents(ids):
            id = document.id.hex()
            seen = [one for one in document.seen if not hidden.hides_date(id, *one)]
            if id not in hidden.documents and (seen or not document.seen):
                yield self._without_hidden(document)._replace(seen=seen)

    def _without_hidden(self, document: LinkingDocument) -> LinkingDocument:
        out = self._urls.among(set(document.links))
        if not out:
            return document
        kept = [place for place, url in enumerate(document.links) if url not in out]
        return document._replace(
            links=[document.links[place] for place in kept],
            texts=[document.texts[place] for place in kept],
            kinds=[document.kinds[place] for place in kept],
        )

    def _visible(self, raw: Sequence[bytes]) -> set[bytes]:
        hidden = self._hidden()
        if not hidden.spans:
            return {id for id in raw if id.hex() not in hidden.documents}
        dates = self._engine.dates([id.hex() for id in raw])
        return {
            id
            for id in raw
            if not hidden.hides(id.hex(), dates[id.hex()].seen if id.hex() in dates else ())
        }

    def version(self) -> str:
        """Return a text that differs whenever other links are visible; "" without a build."""
        version = self._index.version()
        return f"{version} {self._decisions.key} {self._hidden().key}" if version else ""

    def current(self) -> StoredBuild | None:
        """Raise EngineError: blobs hold what is hidden too."""
        raise _whole_only()

    def blobs(self) -> set[str]:
        """Raise EngineError: blobs hold what is hidden too."""
        raise _whole_only()

    def put(self, path: Path) -> None:
        """Raise EngineError: who sees a part of an archive does not build."""
        raise _whole_only()

    def get(self, blobs: Mapping[str, int]) -> None:
        """Raise EngineError: blobs hold what is hidden too."""
        raise _whole_only()

    def delete(self, names: Collection[str]) -> None:
        """Raise EngineError: who sees a part of an archive does not build."""
        raise _whole_only()

    def swap(self, build: StoredBuild, version: str) -> None:
        """Raise EngineError: who sees a part of an archive does not build."""
        raise _whole_only()


def _whole_only() -> EngineError:
    return EngineError(ErrorText("the blobs of inlinks are for those who see the whole archive"))
