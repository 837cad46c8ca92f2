"""Hits as a search server gives them, and as nwx does."""

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nwx.engine.search_server.documents.compile import highlight_query
from nwx.engine.search_server.documents.hidden_parts import HiddenParts
from nwx.engine.search_server.server import Body
from nwx.model import Dates, Hit
from nwx.query.tree import Node

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
]
"""What of a document a hit is made from."""

_SNIPPET_CHARACTERS = 160
_FRAGMENTS = 2
_BETWEEN = " … "
# Servers refuse to highlight more (index.highlight.max_analyzed_offset).
_ANALYZED_CHARACTERS = 999_999
_BLANKS = re.compile(r"\s+")

_Piece = tuple[str, bool]


class Highlighting:
    """The request for snippets, and the reading of its answer.

    Matches are marked by a word made up for each request, so that no
    archived text can pretend to be marked.
    """

    def __init__(self, query: Node) -> None:
        self._mark = f"\ue000{secrets.token_hex(6)}\ue001"
        self._query = query

    def body(self, limit_name: str) -> Body:
        """Return the part of the request; `limit_name` is what the server calls its limit."""
        return {
            "fields": {"content": {}},
            "type": "unified",
            "highlight_query": highlight_query(self._query, "content"),
            "pre_tags": [self._mark],
            "post_tags": [self._mark],
            "number_of_fragments": _FRAGMENTS,
            "fragment_size": _SNIPPET_CHARACTERS,
            "no_match_size": _SNIPPET_CHARACTERS,
            "order": "score",
            limit_name: _ANALYZED_CHARACTERS,
        }

    def pieces(self, hit: Body) -> tuple[_Piece, ...]:
        """Return the snippet of a hit."""
        fragments = hit.get("highlight", {}).get("content", ())
        return tuple(_joined(self._split(text) for text in fragments))

    def _split(self, fragment: str) -> list[_Piece]:
        texts = _BLANKS.sub(" ", fragment).split(self._mark)
        return [(text, place % 2 == 1) for place, text in enumerate(texts) if text]


def _joined(fragments: Iterable[Sequence[_Piece]]) -> Iterator[_Piece]:
    for place, pieces in enumerate(fragments):
        if place:
            yield _BETWEEN, False
        yield from pieces


def to_hit(
    hit: Body,
    dates: Mapping[str, Dates],
    hidden: HiddenParts,
    versions: int = 1,
    snippet: tuple[_Piece, ...] = (),
) -> Hit:
    """Return a hit; `dates` are those of its document where there are more than its own.

    Dates that are hidden are left out.
    """
    source = hit["_source"]
    seen = {(source["timestamp"], source.get("collection", ""))}
    if source["id"] in dates:
        seen.update(dates[source["id"]].seen)
    seen = set(hidden.seen(source["id"], seen))
    return Hit(
        id=source["id"],
        url=source.get("url", ""),
        digest=source.get("digest", ""),
        title=source.get("title", ""),
        dates=tuple(sorted({timestamp for timestamp, _ in seen})),
        score=hit.get("_score") or 0.0,
        snippet=snippet,
        versions=versions,
        host=source.get("host", ""),
        domain=source.get("domain", ""),
        collections=tuple(sorted({collection for _, collection in seen})),
        status_code=source.get("status_code"),
        content_type=source.get("content_type", ""),
        content_type_norm=source.get("content_type_norm", ""),
        content_language=source.get("content_language", ""),
        content_length=source.get("content_length"),
    )
