"""Engine interface for crawls: versions of crawl specifications, scores, and their entries."""

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from nwx.engine.entries import IndexEntry
from nwx.errors import EngineConflictError
from nwx.values.records import from_mapping
from nwx.values.timestamps import to_timestamp

_ATTEMPTS = 10


class LinkScore(NamedTuple):
    """The relevance of a link, in [0, 1], None if blacklisted.

    `role` is the role of the link on its page. `parts` are the components of the relevance, by
    name; `reason` describes the deciding one. `words` are those of its anchor, and not stored.
    """

    url: str
    relevance: float | None = None
    role: str = ""
    parts: Mapping[str, float] = {}
    reason: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentScore:
    """Result of analysing a document by one version of a crawl specification.

    `entities` are names of the specification's entities, with their frequency.
    """

    crawl: str
    version: str
    document_id: str
    url: str
    timestamp: str
    score: float
    site_type: str = ""
    links: tuple[LinkScore, ...] = ()
    entities: tuple[tuple[str, int], ...] = ()


class ScoredLink(NamedTuple):
    """The highest relevance of the links to a URL, None if blacklisted.

    `via` is the URL of the document with that link.
    """

    url: str
    relevance: float | None = None
    role: str = ""
    parts: Mapping[str, float] = {}
    reason: str = ""
    via: str = ""


@dataclass(frozen=True, slots=True)
class StoredSpecification:
    """A saved crawl specification, TOML or JSON; `number` counts the saves of its name.

    `version` is the version of the analysis (`CrawlSpecification.version`); several saved
    specifications may share it. `saved` is a timestamp.
    """

    name: str
    version: str
    text: str
    saved: str
    number: int


@dataclass(frozen=True, slots=True)
class AnalysedVersion:
    """The number of documents analysed with a version, and of URLs that they link to."""

    version: str
    documents: int
    urls: int


class CrawlIndex(ABC):
    """The index crawls of an engine; it may be written to during an import.

    Writes are visible at once. Methods that read scores take the version of the specification; ""
    is the version of the last stored scores.
    """

    @abstractmethod
    def specifications(self) -> list[StoredSpecification]:
        """Return the last saved specification of each crawl, by name."""

    @abstractmethod
    def specification(
        self, name: str, version: str = "", number: int | None = None
    ) -> StoredSpecification | None:
        """Return the last saved specification of a crawl, or the one of a version or number."""

    def save_specification(
        self, name: str, version: str, text: str, expected: int | None = None
    ) -> StoredSpecification:
        """Save a new version of a specification, unless the last one has the same text.

        `expected` is the number of the version to replace, 0 for the first one. Raises
        EngineConflictError if the last one has another number.
        """
        for attempt in range(_ATTEMPTS):
            time.sleep(attempt / 10)
            last = self.specification(name)
            number = last.number if last else 0
            if expected is not None and expected != number:
                raise _saved_meanwhile(name, number, expected)
            if last and (last.version, last.text) == (version, text):
                return last
            now = to_timestamp(datetime.now(UTC))
            saved = StoredSpecification(name, version, text, now, number + 1)
            if self._added(saved):
                return saved
        raise _saved_meanwhile(name, saved.number, saved.number - 1)

    @abstractmethod
    def _added(self, stored: StoredSpecification) -> bool:
        """Add a specification unless its name and number exist; return whether it was added."""

    @abstractmethod
    def replace_specification(self, stored: StoredSpecification) -> None:
        """Store a specification, replacing the one with its name and number."""

    @abstractmethod
    def versions(self, name: str) -> list[StoredSpecification]:
        """Return all saved specifications of a crawl, the last first."""

    @abstractmethod
    def remove_specification(self, name: str) -> bool:
        """Remove all specifications and scores of a crawl; return whether there were any."""

    @abstractmethod
    def analysed(self, crawl: str, version: str, ids: Collection[str]) -> set[str]:
        """Return which of these documents have scores of a version, by id."""

    @abstractmethod
    def analysed_versions(self, crawl: str) -> list[AnalysedVersion]:
        """Return the versions that have scores, the last written first."""

    @abstractmethod
    def put_scores(self, scores: Sequence[DocumentScore]) -> None:
        """Store scores; a document that has scores of a version keeps them."""

    @abstractmethod
    def remove_documents(self, ids: Collection[str], urls: Collection[str]) -> int:
        """Remove scores of documents, and links to these URLs or best mentioned on them.

        Returns the number of entries removed.
        """

    @abstractmethod
    def document_scores(self, crawl: str, version: str = "") -> Iterator[DocumentScore]:
        """Yield the scores of all documents, ordered by document id."""

    @abstractmethod
    def score_values(self, crawl: str, version: str = "") -> Iterator[tuple[str, float]]:
        """Yield the ids and scores of all documents, unordered.

        The links of the documents, which are most of the data, are not read.
        """

    @abstractmethod
    def best_links(
        self, crawl: str, limit: int, offset: int = 0, host: str = "", version: str = ""
    ) -> list[ScoredLink]:
        """Return linked URLs, each once: the most relevant first, blacklisted ones last.

        A URL is blacklisted if any link to it is. `host` limits the result to one host.
        """

    @abstractmethod
    def relevances(
        self, crawl: str, version: str, urls: Collection[str]
    ) -> dict[str, float | None]:
        """Return the highest relevance of the links to each URL that has scores.

        None if a URL is blacklisted.
        """


def _saved_meanwhile(name: str, number: int, expected: int) -> EngineConflictError:
    return EngineConflictError.translated(
        "the specification %(name)s was changed by someone else (number %(number)s, "
        "expected %(expected)s); review it and save again",
        name=name,
        number=number,
        expected=expected,
    )


_HOST_BYTES, _URL_BYTES = 5, 11


def link_key(url: str, host: str) -> bytes:
    """Return a 16-byte key of a URL, which orders links of equal relevance."""
    rest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_URL_BYTES).digest()
    return host_key(host) + rest


@lru_cache(maxsize=65_536)
def host_key(host: str) -> bytes:
    """Return the common prefix of the keys of all URLs of a host."""
    return blake2b(host.encode("utf-8", "surrogatepass"), digest_size=_HOST_BYTES).digest()


def specification_id(name: str, number: int) -> str:
    """Return the id of a saved crawl specification."""
    return f"specification/{name}/{number:06}"


def score_id(crawl: str, version: str, document_id: str = "") -> str:
    """Return the id of the scores of a document, without a document the common prefix."""
    return f"score/{crawl}/{version}/{document_id}"


def link_id(crawl: str, version: str, key: bytes = b"") -> str:
    """Return the id of the best link to a URL, without a key the common prefix."""
    return f"link/{crawl}/{version}/{key.hex()}"


def specification_entry(stored: StoredSpecification) -> IndexEntry:
    """Return a saved specification as an entry."""
    entry = {**asdict(stored), "kind": "specification", "crawl": stored.name}
    return entry | {"id": specification_id(entry.pop("name"), stored.number)}


def specification_from_entry(entry: Mapping[str, Any]) -> StoredSpecification:
    """Return the saved specification of an entry."""
    return from_mapping(StoredSpecification, entry, name=entry["crawl"])


def score_entry(score: DocumentScore) -> IndexEntry:
    """Return the scores of a document as an entry."""
    entry: IndexEntry = {
        "id": score_id(score.crawl, score.version, score.document_id),
        "kind": "score",
        **{field.name: getattr(score, field.name) for field in fields(score)},
        "links": [_link(link) for link in score.links],
        "entities": [name for name, _ in score.entities],
        "entity_counts": [count for _, count in score.entities],
    }
    return {name: value for name, value in entry.items() if value not in ("", [])}


def _link(link: LinkScore) -> IndexEntry:
    found = link._asdict() | {"parts": dict(link.parts), "words": ""}
    return {name: value for name, value in found.items() if value not in (None, "", {})}


def score_from_entry(entry: Mapping[str, Any]) -> DocumentScore:
    """Return the scores of a document from an entry."""
    links = tuple(from_mapping(LinkScore, link) for link in entry.get("links", ()))
    counts = zip(entry.get("entities", ()), entry.get("entity_counts", ()), strict=True)
    return from_mapping(DocumentScore, entry, links=links, entities=tuple(counts))


def encodable_score(score: DocumentScore) -> DocumentScore:
    """Return scores with question marks for characters that UTF-8 cannot encode."""
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
    """Return the best link to a URL from an entry."""
    return from_mapping(ScoredLink, entry)


def best_of(scores: Iterable[DocumentScore]) -> dict[str, ScoredLink]:
    """Return the best link to each URL that documents link to; the first on ties."""
    best: dict[str, ScoredLink] = {}
    for score in scores:
        for link in score.links:
            known = best.get(link.url)
            if known is None or link_rank(link.relevance) > link_rank(known.relevance):
                best[link.url] = ScoredLink(*link[:5], score.url)
    return best


def link_rank(relevance: float | None) -> float:
    """Return the rank of a link; the highest one counts, blacklisted links rank highest."""
    return 2.0 if relevance is None else relevance
