"""Documents without some of their captures: removed, or given another capture as their own."""

import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from nwx.engine.base import Engine
from nwx.engine.entries import document_entry, document_from_entry
from nwx.keys import holds, makes_document, precedence
from nwx.model import Batch, Capture, Document, IndexName
from nwx.takedown.scope_captures import ScopeCaptures

_STATE = "purged-documents"


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """How many documents are gone, and how many have another capture as their own."""

    removed: int = 0
    moved: int = 0


class PurgedDocuments:
    """Takes captures from documents.

    The text of a document that another capture holds too stays. Such
    documents are kept aside (as a state of the index access) while they are
    deleted and written again, so that a purge that is killed loses none.
    """

    def __init__(self, engine: Engine, scope: ScopeCaptures) -> None:
        self._engine, self._scope = engine, scope
        self._access = engine.access_index()

    def restore(self) -> None:
        """Write again what a purge that was killed had kept aside."""
        kept = self._access.state(_STATE)
        if kept:
            self._write_again([document_from_entry(one) for one in _unpacked(kept)])

    def take(self, ids: Collection[str]) -> DocumentCounts:
        """Take the captures of the scope from these documents."""
        found = self._engine.documents(list(ids))
        own = {id: document for id, document in found.items() if self._scope.has(document.capture)}
        moved = [] if self._scope.has_whole_documents else list(self._moved(own.items()))
        if moved:
            self._access.put_state(_STATE, _packed(moved))
        if own:
            self._engine.delete(IndexName.DOCUMENTS, list(own))
        if moved:
            self._write_again(moved)
        return DocumentCounts(len(own) - len(moved), len(moved))

    def _moved(self, documents: Collection[tuple[str, Document]]) -> Iterator[Document]:
        """Yield the documents whose payload another capture holds, with that capture."""
        for id, document in documents:
            others = [one for one in self._others(document.capture.urlkey) if holds(one, id)]
            if others:
                yield Document(max(others, key=precedence), document.extract)

    def _others(self, urlkey: str) -> Iterator[Capture]:
        """Yield the captures of a urlkey that stay and hold a payload."""
        for capture in self._engine.captures(urlkey):
            if makes_document(capture) and not self._scope.has(capture):
                yield capture

    def _write_again(self, documents: Sequence[Document]) -> None:
        self._engine.write(Batch(documents=tuple(documents)))
        self._engine.refresh()
        self._access.put_state(_STATE, b"")


def _packed(documents: Sequence[Document]) -> bytes:
    return zlib.compress(json.dumps([document_entry(one) for one in documents]).encode())


def _unpacked(state: bytes) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(zlib.decompress(state))
    return found
