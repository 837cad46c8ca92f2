"""Specifications and scores as entries of the index crawls, and the best link to each URL."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from nwx.engine.crawls.crawl_index import (
    DocumentScore,
    LinkScore,
    ScoredLink,
    StoredSpecification,
)
from nwx.engine.entries import IndexEntry

_HOST_BYTES, _URL_BYTES = 5, 11


def link_key(url: str, host: str) -> bytes:
    """Return 16 bytes that stand for a URL, by which links of equal relevance are in order."""
    rest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_URL_BYTES).digest()
    return host_key(host) + rest


@lru_cache(maxsize=65_536)
def host_key(host: str) -> bytes:
    """Return the bytes that the keys of all URLs of a host begin with."""
    return blake2b(host.encode("utf-8", "surrogatepass"), digest_size=_HOST_BYTES).digest()


def specification_id(name: str, number: int) -> str:
    """Return the id of what was saved of a crawl under a number."""
    return f"specification/{name}/{number:06}"


def score_id(crawl: str, version: str, document_id: str = "") -> str:
    """Return the id of the scores of a document, or what the ids of all have in front."""
    return f"score/{crawl}/{version}/{document_id}"


def link_id(crawl: str, version: str, key: bytes = b"") -> str:
    """Return the id of the best link to a URL, or what the ids of all have in front."""
    return f"link/{crawl}/{version}/{key.hex()}"


def specification_entry(stored: StoredSpecification) -> IndexEntry:
    """Return a saved specification as an entry."""
    return {
        "id": specification_id(stored.name, stored.number),
        "kind": "specification",
        "crawl": stored.name,
        "version": stored.version,
        "number": stored.number,
        "text": stored.text,
        "saved": stored.saved,
    }


def specification_from_entry(entry: Mapping[str, Any]) -> StoredSpecification:
    """Return the saved specification of an entry."""
    return StoredSpecification(
        entry["crawl"], entry["version"], entry["text"], entry["saved"], entry["number"]
    )


def score_entry(score: DocumentScore) -> IndexEntry:
    """Return the scores of a document as an entry."""
    entry: IndexEntry = {
        "id": score_id(score.crawl, score.version, score.document_id),
        "kind": "score",
        "crawl": score.crawl,
        "version": score.version,
        "document_id": score.document_id,
        "url": score.url,
        "timestamp": score.timestamp,
        "score": score.score,
    }
    if score.site_type:
        entry["site_type"] = score.site_type
    if score.links:
        entry["links"] = [_link(link) for link in score.links]
    if score.entities:
        entry["entities"] = [name for name, _ in score.entities]
        entry["entity_counts"] = [count for _, count in score.entities]
    return entry


def _link(link: LinkScore) -> IndexEntry:
    found = {
        "url": link.url,
        "relevance": link.relevance,
        "role": link.role,
        "parts": dict(link.parts),
        "reason": link.reason,
    }
    return {name: value for name, value in found.items() if value not in (None, "", {})}


def score_from_entry(entry: Mapping[str, Any]) -> DocumentScore:
    """Return the scores of a document of an entry."""
    links = tuple(
        LinkScore(
            link["url"],
            link.get("relevance"),
            link.get("role", ""),
            link.get("parts", {}),
            link.get("reason", ""),
        )
        for link in entry.get("links", ())
    )
    counts = zip(entry.get("entities", ()), entry.get("entity_counts", ()), strict=True)
    return DocumentScore(
        entry["crawl"],
        entry["version"],
        entry["document_id"],
        entry["url"],
        entry["timestamp"],
        entry["score"],
        entry.get("site_type", ""),
        links,
        tuple(counts),
    )


def encodable_score(score: DocumentScore) -> DocumentScore:
    """Return scores with question marks for what UTF-8 cannot hold."""
    links = tuple(
        LinkScore(
            _encodable(link.url), link.relevance, link.role, link.parts, _encodable(link.reason)
        )
        for link in score.links
    )
    entities = tuple((_encodable(name), count) for name, count in score.entities)
    return replace(score, url=_encodable(score.url), links=links, entities=entities)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def link_entry(crawl: str, version: str, link: ScoredLink, host: str) -> IndexEntry:
    """Return the best link to a URL as an entry."""
    return {
        "id": link_id(crawl, version, link_key(link.url, host)),
        "kind": "link",
        "crawl": crawl,
        "version": version,
        "host": host,
        "via": link.via,
    } | _link(LinkScore(*link[:5]))


def link_from_entry(entry: Mapping[str, Any]) -> ScoredLink:
    """Return the best link to a URL of an entry."""
    return ScoredLink(
        entry["url"],
        entry.get("relevance"),
        entry.get("role", ""),
        entry.get("parts", {}),
        entry.get("reason", ""),
        entry.get("via", ""),
    )


def best_of(scores: Iterable[DocumentScore]) -> dict[str, ScoredLink]:
    """Return the best link to each URL that documents link to; the first of equal ones."""
    best: dict[str, ScoredLink] = {}
    for score in scores:
        for link in score.links:
            known = best.get(link.url)
            if known is None or link_rank(link.relevance) > link_rank(known.relevance):
                best[link.url] = ScoredLink(*link, score.url)
    return best


def link_rank(relevance: float | None) -> float:
    """Return what is higher for the link that counts: blacklisted ones count most."""
    return 2.0 if relevance is None else relevance
