"""The documents of a server: writing, reading, similar words, and conversion to hits."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext

from nwx.engine.entries import (
    IndexEntry,
    document_entry,
    document_from_entry,
    hit_from_entry,
)
from nwx.engine.indices.vector_index import ShownPassage
from nwx.engine.search_server.documents.hidden_parts import HiddenParts
from nwx.engine.search_server.pages import entries_by_id, partial_allowed, search_page
from nwx.engine.search_server.schema import own_of_document
from nwx.engine.search_server.server import Body, Server
from nwx.engine.search_server.writes import BulkAction, send
from nwx.engine.snippets import Highlighter, Piece
from nwx.errors import EngineBusyError
from nwx.model import Dates, Document, Hit
from nwx.query.fields import DEFAULT_FIELDS
from nwx.query.words import most_edits, nearest_words

_ATTEMPTS = 20
_FORGETTING_SECONDS = 0.25


class DocumentsIndex:
    """The index of documents; the version of an entry is the precedence of its capture."""

    def __init__(self, server: Server, index: str) -> None:
        self._server = server
        self._index = index

    def known(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the precedence of the stored documents among `ids`."""
        found = entries_by_id(self._server, self._index, ids, "false")
        return {id: entry["_version"] for id, entry in found.items()}

    def read(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the documents with these ids."""
        found = entries_by_id(self._server, self._index, ids, "true")
        return {id: document_from_entry(entry["_source"]) for id, entry in found.items()}

    def write(self, documents: Iterable[Document], *, amends: bool = False) -> Counter[str]:
        """Write documents; count the outcomes: created, updated, conflict (already known).

        With `amends`, they also replace documents of equal precedence.
        """
        wanted = _first_of_each(documents)
        counts: Counter[str] = Counter()
        for _ in range(_ATTEMPTS):
            outcomes = dict(
                zip(wanted, send(self._server, self._actions(wanted, amends)), strict=True)
            )
            counts.update(outcomes.values())
            refused = [id for id, outcome in outcomes.items() if outcome == "conflict"]
            known = self.known(refused)
            wanted = {id: wanted[id] for id in refused if id not in known}
            if not wanted:
                return counts
            # Just deleted: the server still remembers their versions for a while.
            counts["conflict"] -= len(wanted)
            time.sleep(_FORGETTING_SECONDS)
        raise EngineBusyError.translated(
            "other processes keep deleting %(count)s documents at %(address)s while they are "
            "written; try again later",
            count=len(wanted),
            address=self._server.address,
        )

    def _actions(self, entries: dict[str, IndexEntry], amends: bool) -> Iterable[BulkAction]:
        kind = "external_gte" if amends else "external"
        for id, entry in entries.items():
            version = (("version", entry["precedence"]), ("version_type", kind))
            yield BulkAction(self._index, id, entry, control=version)


def _first_of_each(documents: Iterable[Document]) -> dict[str, IndexEntry]:
    best: dict[str, IndexEntry] = {}
    for entry in map(document_entry, documents):
        known = best.get(entry["id"])
        if known is None or known["precedence"] < entry["precedence"]:
            best[entry["id"]] = own_of_document(entry)
    return best


_MOST_OPTIONS = 50


def similar_words(server: Server, index: str, word: str, most: int, *, partial: bool) -> list[str]:
    """Return words similar to `word`, like `Engine.similar_words`.

    The term suggester of the server looks it up in each text field.
    """
    asked = {
        field: {
            "text": word,
            "term": {
                "field": field,
                "suggest_mode": "always",
                "size": _MOST_OPTIONS,
                "prefix_length": 1,
                "max_edits": 2,
                "min_word_length": 4,
            },
        }
        for field in DEFAULT_FIELDS
    }
    body: Body = {"size": 0, "suggest": asked, "track_total_hits": False}
    # Missing shards are acceptable, as the words are only suggestions.
    with partial_allowed() if partial else nullcontext():
        answer = search_page(server, index, body)
    # If the text is several words, a field has several answers.
    found = [answer["suggest"][field] for field in asked]
    if any(len(words) != 1 for words in found) or not most_edits(found[0][0]["text"]):
        return []
    options = [(one["text"], one["freq"]) for words in found for one in words[0]["options"]]
    return nearest_words(found[0][0]["text"], options, most)


SOURCE = [
    "id",
    "url",
    "urlkey",
    "digest",
    "title",
    "timestamp",
    "collection",
    "host",
    "domain",
    "status_code",
    "content_type",
    "content_type_norm",
    "content_language",
    "content_length",
    "problems",
    "signature",
]
"""The fields of a document needed for a hit."""

SNIPPET_SOURCE = ["content", "description"]
"""The fields of a document needed for its snippet."""


def to_hit(
    hit: Body,
    dates: Mapping[str, Dates],
    hidden: HiddenParts,
    versions: int = 1,
    highlighter: Highlighter | ShownPassage | None = None,
) -> Hit:
    """Return a hit; `dates` has all dates of documents with more than their own date.

    Hidden dates are left out. With a `highlighter` or passage, the hit has a snippet.
    """
    source = hit["_source"]
    seen = {(source["timestamp"], source.get("collection", ""))}
    if source["id"] in dates:
        seen.update(dates[source["id"]].seen)
    seen = set(hidden.seen(source["id"], seen))
    dates_seen = tuple(sorted({timestamp for timestamp, _ in seen}))
    collections = tuple(sorted({collection for _, collection in seen}))
    score = hit.get("_score") or 0.0
    snippet: tuple[Piece, ...] = ()
    if highlighter is not None:
        snippet = highlighter.snippet(source.get("content") or source.get("description", ""))
    return hit_from_entry(source, dates_seen, collections, score, snippet, versions)
