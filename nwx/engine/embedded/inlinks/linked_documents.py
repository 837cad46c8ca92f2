"""The documents of a view by the targets of links: the join of documents with anchors."""

import threading
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, islice

import numpy as np
from cachetools import LRUCache

from nwx.engine.anchors.scores import TargetSet, linking_counts
from nwx.engine.anchors.store import AnchorBlobs
from nwx.engine.anchors.table import NO_TARGET, UNKNOWN, AnchorTable
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import Bools
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.query.hidden import HiddenDocuments

_AT_ONCE = 1_000
_VIEWERS_KEPT = 4


@dataclass(frozen=True)
class LinkedDocuments:
    """The target of each document, by the number of its id; `table` is None without inlinks.

    `state` is another one for each view and table that were joined.
    """

    table: AnchorTable | None
    targets: Ints
    state: int = field(default_factory=count(1).__next__)

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(self.targets, kind="stable")

    @cached_property
    def _starts(self) -> Ints:
        size = 0 if self.table is None else self.table.size
        return np.searchsorted(self.targets[self._order], np.arange(size + 1))

    def nums(self, targets: Ints) -> Ints:
        """Return the documents of targets."""
        begins = self._starts[targets]
        lengths = self._starts[targets + 1] - begins
        firsts = np.repeat(begins - np.cumsum(lengths) + lengths, lengths)
        found: Ints = self._order[np.arange(len(firsts)) + firsts]
        return found

    def meet(self, wanted: TargetSet) -> Bools:
        """Tell of each number whether its target is in a set."""
        size = 0 if self.table is None else self.table.size
        marks = np.zeros(size + 1, dtype=bool)
        marks[wanted.targets] = True
        marks[NO_TARGET] = wanted.unlinked
        return marks[self.targets]

    def inlinks(self, nums: Ints) -> Ints:
        """Return how many pages link to each of some documents."""
        if self.table is None:
            return np.zeros(len(nums), dtype=np.int64)
        return linking_counts(self.table, "documents", self.targets[nums])


class DocumentJoin:
    """What joins the view of now with the anchors of now; shared by threads."""

    def __init__(self, blobs: AnchorBlobs) -> None:
        self._blobs = blobs
        self._guard = threading.Lock()
        self._joined: LRUCache[str, tuple[ArchiveView, LinkedDocuments]] = LRUCache(_VIEWERS_KEPT)

    def documents(self, view: ArchiveView, hidden: HiddenDocuments) -> LinkedDocuments:
        """Return the documents of a view by target; what is hidden links to none."""
        with self._guard:
            table = self._blobs.table(hidden)
            known = self._joined.get(hidden.key)
            if known is None or known[0] is not view or known[1].table is not table:
                before = known[1] if known and known[1].table is table else None
                known = self._joined[hidden.key] = view, _joined(view, table, before)
            return known[1]


def _joined(
    view: ArchiveView, table: AnchorTable | None, before: LinkedDocuments | None
) -> LinkedDocuments:
    columns = view.columns
    targets = np.full(columns.size, NO_TARGET, dtype=np.int64)
    if table is None:
        return LinkedDocuments(None, targets)
    if before is not None:
        targets[: len(before.targets)] = before.targets[: columns.size]
        fresh = np.arange(len(before.targets), columns.size)
        fresh = fresh[columns.is_document[fresh]]
    else:
        fresh = np.flatnonzero(columns.is_document)
    targets[fresh] = table.document_targets(columns.id_start[fresh])
    unknown = np.flatnonzero(targets == UNKNOWN)
    targets[unknown] = _looked_up(view, table, unknown)
    return LinkedDocuments(table, targets)


def _looked_up(view: ArchiveView, table: AnchorTable, nums: Ints) -> Ints:
    """Return the targets of documents that came after the build, by their urlkeys."""
    found = np.full(len(nums), NO_TARGET, dtype=np.int64)
    places = {num: place for place, num in enumerate(nums.tolist())}
    remaining = iter(nums.tolist())
    while chunk := list(islice(remaining, _AT_ONCE)):
        heads = [
            (num, tantivy_index.head_of(document).get("urlkey", ""))
            for num, document in tantivy_index.documents_by_num(view.searcher, chunk)
        ]
        targets = table.targets([urlkey for _, urlkey in heads])
        for (num, _), target in zip(heads, targets.tolist(), strict=True):
            found[places[num]] = target
    return found
