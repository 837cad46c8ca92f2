"""The words of a query in a text."""

from nwx.model import FoundByLinks, Hit
from nwx.query.tree import Node

_MOST_MARKS = 2_000


def highlighted(tree: Node, text: str) -> tuple[tuple[str, bool], ...]:
    """Return a text in pieces, each with whether it is a word of a query.

    Case and accents are ignored. Each word of a phrase counts. At most 2,000 words are marked.
    """
    # Imported here: lists of hits do without.
    from nwx.engine.embedded.documents.snippets import Highlighter

    return Highlighter(tree).marked(text, _MOST_MARKS)


def found_by_words(found: FoundByLinks) -> str:
    """Return which anchor text a document was found by, and how many hosts link with it."""
    hosts = "1 host" if found.hosts == 1 else f"{found.hosts:,} hosts"
    return f"found by links: “{found.anchor}” from {hosts}"


def score_words(hit: Hit) -> str:
    """Return the parts of the score of a hit as text, "" if it has no relevance score."""
    parts = hit.score_parts
    if parts is None:
        return ""
    one = parts.linking_domains == 1
    domains = f"{parts.linking_domains:,} linking {'domain' if one else 'domains'}"
    return (
        f"score {hit.score:.2f} = the higher of text {parts.text:.2f} and anchors "
        f"{parts.anchor:.2f}, × {parts.inlink_factor:.3f} for {domains}"
    )
