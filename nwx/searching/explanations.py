"""What links have to do with a hit, in words."""

from nwx.model import FoundByLinks, Hit


def found_by_words(found: FoundByLinks) -> str:
    """Return which anchor text a document was found by, and how many hosts link with it."""
    hosts = "1 host" if found.hosts == 1 else f"{found.hosts:,} hosts"
    return f"found by links: “{found.anchor}” from {hosts}"


def score_words(hit: Hit) -> str:
    """Return what the score of a hit is made of, "" where it is not one of relevance."""
    parts = hit.score_parts
    if parts is None:
        return ""
    one = parts.linking_domains == 1
    domains = f"{parts.linking_domains:,} linking {'domain' if one else 'domains'}"
    return (
        f"score {hit.score:.2f} = the higher of text {parts.text:.2f} and anchors "
        f"{parts.anchor:.2f}, × {parts.inlink_factor:.3f} for {domains}"
    )
