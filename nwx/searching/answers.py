"""Search results for programs: on the command line, from the API, in exports.

The dataclasses define both the JSON and its schema. A field that is UNSET is left out.
"""

import json
from dataclasses import dataclass, fields
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from nwx.engine.entries import document_entry
from nwx.model import (
    Dates,
    FacetValue,
    FoundByLinks,
    Hit,
    ScoreParts,
    SearchResult,
    Total,
)
from nwx.query.fields import FILTERS
from nwx.query.tree import Node
from nwx.searching.documents import ShownDocument, UrlVersion
from nwx.values.records import copied

Timestamp = Annotated[str, Meta(pattern="^[0-9]{14}$", description="14 digits, UTC")]
Count = Annotated[int, Meta(ge=0)]
OptionalText = str | UnsetType
OptionalTexts = tuple[str, ...] | UnsetType
OptionalCount = Count | UnsetType
OptionalCounts = tuple[Count, ...] | UnsetType


@dataclass(frozen=True, slots=True)
class HitAnswer:
    """A document found; `snippet` is plain text, `highlights` its matching words.

    `score_parts` lists the parts of the score, `found_by_links` the anchor text that found a
    document whose own words do not match. `copy_of` is the id of an earlier hit with the same text.
    """

    id: str
    url: str
    digest: str
    title: str
    dates: tuple[Timestamp, ...]
    snippet: str
    highlights: tuple[str, ...]
    score: float
    versions: Count
    host: str
    domain: str
    collections: tuple[str, ...]
    status: int | None
    content_type: str
    type: str
    language: str
    content_length: int | None
    score_parts: ScoreParts | UnsetType = UNSET
    found_by_links: FoundByLinks | UnsetType = UNSET
    copy_of: OptionalText = UNSET


@dataclass(frozen=True, slots=True)
class LackingAnswer:
    """The shards of a server missing from an answer, `missing_shards` of `shards`."""

    missing_shards: Count
    shards: Count


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """A page of hits; facets are named like filters, and counted without their own filter.

    `lacking` reports the shards of a server that did not answer: hits and counts may then be too
    low. With `most_words`, no document has all words of the query, and the hits have most of them.
    """

    total: Total
    documents: Total
    hits: tuple[HitAnswer, ...]
    facets: dict[str, tuple[FacetValue, ...]]
    took_ms: float
    lacking: LackingAnswer | UnsetType = UNSET
    most_words: bool | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """A date of a document, and the collection of the capture."""

    timestamp: Timestamp
    collection: str


@dataclass(frozen=True, slots=True)
class RecordAnswer:
    """A capture of a document, and the location of its record."""

    timestamp: Timestamp
    url: str
    record_type: str
    collection: str
    source_file: str
    source_file_offset: Count
    record_length: int | None
    status_code: int | None


@dataclass(frozen=True, slots=True)
class DocumentAnswer:
    """A version of a URL: its earliest capture, its text, all its dates and captures."""

    id: str
    url: str
    urlkey: str
    digest: str
    precedence: int
    collection: str
    source_file: str
    record_type: str
    timestamp: Timestamp
    crawl_date: str
    crawl_year: int
    dates: tuple[Timestamp, ...]
    seen: tuple[SeenAnswer, ...]
    captures: tuple[RecordAnswer, ...]
    source_file_offset: OptionalCount = UNSET
    record_length: OptionalCount = UNSET
    url_text: OptionalText = UNSET
    host: OptionalText = UNSET
    domain: OptionalText = UNSET
    public_suffix: OptionalText = UNSET
    status_code: OptionalCount = UNSET
    content_type: OptionalText = UNSET
    content_type_norm: OptionalText = UNSET
    content_length: OptionalCount = UNSET
    content_language: OptionalText = UNSET
    redirect_to: OptionalText = UNSET
    title: OptionalText = UNSET
    headings: OptionalTexts = UNSET
    description: OptionalText = UNSET
    author: OptionalText = UNSET
    content: OptionalText = UNSET
    signature: OptionalText = UNSET
    links: OptionalTexts = UNSET
    links_text: OptionalTexts = UNSET
    links_kind: OptionalTexts = UNSET
    links_domains: OptionalTexts = UNSET
    problems: OptionalTexts = UNSET
    puid: OptionalText = UNSET
    content_type_droid: OptionalText = UNSET
    content_type_ext: OptionalText = UNSET
    generator: OptionalText = UNSET
    server: OptionalText = UNSET
    warc_ip: OptionalText = UNSET
    license_url: OptionalText = UNSET
    keywords: OptionalTexts = UNSET
    publication_date: OptionalText = UNSET
    publication_year: OptionalText = UNSET
    last_modified: OptionalText = UNSET
    last_modified_year: OptionalText = UNSET
    elements_used: OptionalTexts = UNSET
    elements_counts: OptionalCounts = UNSET
    tlsh_hash: OptionalText = UNSET
    favicon_hash: OptionalText = UNSET
    exif_date: OptionalText = UNSET
    exif_location: OptionalText = UNSET
    other_fields: OptionalTexts = UNSET


@dataclass(frozen=True, slots=True)
class DatesAnswer:
    """All dates of a document; `key` is `<url> <digest>`."""

    id: str
    key: str
    dates: tuple[SeenAnswer, ...]


@dataclass(frozen=True, slots=True)
class VersionsAnswer:
    """The versions of a URL, ordered by first date."""

    url: str
    versions: tuple[UrlVersion, ...]


def answer_to_json(answer: object) -> Any:
    """Return an answer as JSON-ready dictionaries, tuples, texts and numbers."""
    return msgspec.to_builtins(answer)


def encoded_answer(answer: object) -> bytes:
    """Return an answer as JSON in UTF-8."""
    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:
        # Lone surrogates, which servers may store, can be written only as escapes.
        return json.dumps(answer_to_json(answer)).encode()


def hit_answer(hit: Hit) -> HitAnswer:
    """Return a hit in the form for programs."""
    return copied(
        HitAnswer,
        hit,
        snippet="".join(text for text, _ in hit.snippet),
        highlights=tuple(text for text, matches in hit.snippet if matches),
        status=hit.status_code,
        type=hit.content_type_norm,
        language=hit.content_language,
        score_parts=hit.score_parts or UNSET,
        found_by_links=hit.found_by_links or UNSET,
        copy_of=hit.copy_of or UNSET,
    )


def search_answer(result: SearchResult) -> SearchAnswer:
    """Return a search result in the form for programs."""
    names = {field_name: name for name, field_name in FILTERS.items()}
    return SearchAnswer(
        total=result.total,
        documents=result.documents,
        hits=tuple(map(hit_answer, result.hits)),
        facets={names.get(name, name): values for name, values in result.facets.items()},
        took_ms=round(result.took_ms, 3),
        lacking=LackingAnswer(result.missing_shards, result.shards)
        if result.missing_shards
        else UNSET,
        most_words=result.most_words or UNSET,
    )


def document_answer(shown: ShownDocument) -> DocumentAnswer:
    """Return a document in the form for programs."""
    known = {field.name for field in fields(DocumentAnswer)}
    entry = document_entry(shown.document)
    return DocumentAnswer(
        **{name: value for name, value in entry.items() if name in known},
        dates=tuple(sorted({timestamp for timestamp, _ in shown.dates.seen})),
        seen=_seen(shown.dates),
        captures=tuple(copied(RecordAnswer, capture) for capture in shown.captures),
    )


def dates_answer(shown: ShownDocument) -> DatesAnswer:
    """Return the dates of a document in the form for programs."""
    return DatesAnswer(shown.id, shown.dates.key, _seen(shown.dates))


def _seen(dates: Dates) -> tuple[SeenAnswer, ...]:
    return tuple(SeenAnswer(timestamp, collection) for timestamp, collection in dates.seen)


_MOST_MARKS = 2_000


def highlighted(tree: Node, text: str) -> tuple[tuple[str, bool], ...]:
    """Return a text in pieces, each with whether it is a word of a query.

    Ignores case and accents; marks each word of a phrase, at most 2,000 words.
    """
    # Imported here: lists of hits do not need it.
    from nwx.engine.snippets import Highlighter

    return Highlighter(tree).marked(text, _MOST_MARKS)


def found_by_words(found: FoundByLinks) -> str:
    """Return a line on the anchor text that found a document, and the hosts that use it."""
    hosts = "1 host" if found.hosts == 1 else f"{found.hosts:,} hosts"
    return f"found by links: “{found.anchor}” from {hosts}"


def score_words(hit: Hit) -> str:
    """Return the parts of a hit's score as text, "" without a relevance score."""
    parts = hit.score_parts
    if parts is None:
        return ""
    one = parts.linking_domains == 1
    domains = f"{parts.linking_domains:,} linking {'domain' if one else 'domains'}"
    return (
        f"score {hit.score:.2f} = the higher of text {parts.text:.2f} and anchors "
        f"{parts.anchor:.2f}, with a part of the lower, × {parts.inlink_factor:.3f} for {domains}"
    )
