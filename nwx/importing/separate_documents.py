"""Documents of their own, for captures that are not deduplicated.

The document of a key is always made from its earliest capture, and is
where all dates of the key are found. Every further capture of a file that
was imported without deduplication has another document, by the key and
its place, with its own date. So archives may be made of both kinds of
files, in any order.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from nwx.engine.base import Engine
from nwx.keys import capture_key, document_id, precedence
from nwx.model import UNDEDUPLICATED, Batch, Capture, Dates, Document, SourceFile, Written

Write = Callable[[], Written]


class Separated:
    """Writes batches so that no capture of some files goes without a document."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._files: set[tuple[str, str]] = set()

    def note(self, files: Iterable[SourceFile]) -> None:
        """Take those of the files that were imported without deduplication."""
        self._files.update(
            (file.collection, file.name) for file in files if file.counts.get(UNDEDUPLICATED)
        )

    @property
    def needed(self) -> bool:
        """Whether documents of keys must be looked at before they are written."""
        return bool(self._files)

    def writes(self, batch: Batch, *, every: bool) -> list[Write]:
        """Return what stores a batch, to be called one after the other.

        With `every` each document of the batch stays, else those that
        others of these files must give way to.
        """
        if not (every or self._files) or not batch.documents:
            return [lambda: self._engine.write(batch)]
        own, shared = self._sorted_out(batch.documents, every=every)
        rest = replace(batch, documents=tuple(shared))
        # First what gives way: an end between the two then loses nothing.
        first: list[Write] = [lambda: self._engine.write(_own(own))] if own else []
        return [*first, lambda: self._engine.write(rest)]

    def _sorted_out(
        self, documents: Sequence[Document], *, every: bool
    ) -> tuple[list[Document], list[Document]]:
        """Return the documents of single captures, and those of keys."""
        by_id: defaultdict[str, list[Document]] = defaultdict(list)
        for document in documents:
            by_id[document.capture.document_id].append(document)
        own: list[Document] = []
        shared: list[Document] = []
        ranks = self._engine.known(by_id)
        beaten = [id for id, new in by_id.items() if -1 < ranks.get(id, -1) <= max(map(_rank, new))]
        held = self._engine.documents(beaten)
        for id, new in by_id.items():
            before = [held[id]] if id in held else []
            stay = [one for one in before if self._is_separate(one.capture)]
            stay += new if every else []
            if id in ranks and not before:
                own += stay
                continue
            best = max((*before, *new), key=_rank)
            own += [one for one in stay if _place(one) != _place(best)]
            if not before or best is not before[0]:
                shared.append(best)
        return own, shared

    def _is_separate(self, capture: Capture) -> bool:
        return (capture.collection, capture.source_file) in self._files


def _rank(document: Document) -> int:
    return precedence(document.capture)


def _place(document: Document) -> tuple[str, str, int]:
    capture = document.capture
    return capture.collection, capture.source_file, capture.source_file_offset


def _own(documents: Iterable[Document]) -> Batch:
    """Return what stores documents by their own keys, each with its date."""
    named, dates = [], []
    for document in documents:
        capture, key = document.capture, capture_key(document.capture)
        named.append(replace(document, capture=capture._replace(document_id=document_id(key))))
        dates.append(Dates(key, ((capture.timestamp, capture.collection),)))
    return Batch(documents=tuple(named), dates=tuple(dates))
