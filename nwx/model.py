"""The records that cross layers: frozen, without behaviour.

Attribute names are the field names of `mappings/*.json`. A missing text is "", a missing number is
None. Timestamps are 14 digits, UTC. Digests are normalized (`nwx.values.digests`).
"""

from collections.abc import Mapping
from dataclasses import field, make_dataclass
from enum import StrEnum
from typing import NamedTuple

from nwx.data_classes import dataclass

DEFAULT_COLLECTION = "default"
_FIELDS = "__dataclass_fields__"
PARSERS = ("fast", "bs4")
"""The HTML parsers of `nwx.extract`: lexbor, or BeautifulSoup with lxml."""

STANDARD_INPUT = "-"
"""The name of standard input in place of a path."""

EXCLUDED, UNDEDUPLICATED, UNREADABLE = "excluded", "undeduplicated", "unreadable"
"""Counts of a file: captures left out by lists, captures that may have their own document, and 1
if nothing could be read; such an entry is replaced by any other file of the same name."""

PURGED, DIGESTED = "purged", "digested"
"""Counts of captures kept out by access rules, and of captures with additional digests."""

ANCHORS_KEPT = 100
"""The most anchor texts kept for a URL, both from other hosts and from its own host."""

ANCHOR_CHARACTERS = 1_000
"""The longest anchor text; the rest is cut off."""

MAIN_DATES = "main"
"""The name of the dates index of every archive; users name additional ones."""


class IndexName(StrEnum):
    """The indices of an archive; the values are file names in `mappings/`, without `.json`."""

    DOCUMENTS = "documents"
    DATES = "dates"
    CAPTURES = "captures"
    FACETS = "facets"
    INLINKS = "inlinks"
    CRAWLS = "crawls"
    QUEUE = "queue"
    QUALITY = "quality"
    ACCESS = "access"
    PICTURES = "pictures"
    VECTORS = "vectors"
    ALIASES = "aliases"
    CHANGES = "changes"
    DIGESTS = "digests"
    DEDUP = "dedup"
    JUDGEMENTS = "judgements"
    REVIEWS = "reviews"
    WATCHES = "watches"
    FILES = "files"


class Capture(NamedTuple):
    """One archived exchange: metadata and the location of its record, without payload.

    `source_file` is a name, not a path (`NAME.wacz#archive/INNER.warc.gz` inside a WACZ).
    `record_length` is the stored (compressed) size, `content_length` that of the payload, in bytes;
    None if unknown. `document_id` is the id of `<url> <digest>`, "" without a digest.
    """

    collection: str
    source_file: str
    source_file_offset: int
    record_length: int | None
    record_type: str  # response, resource, revisit, conversion
    url: str
    urlkey: str
    host: str
    domain: str
    public_suffix: str
    timestamp: str
    digest: str
    document_id: str
    status_code: int | None
    content_type: str  # MIME type as served: lower case, no parameters
    content_type_norm: str  # html, pdf, image, … (nwx.values.media_types)
    content_length: int | None
    redirect_to: str = ""
    method: str = "GET"
    revisit_profile: str = ""
    refers_to_url: str = ""
    refers_to_timestamp: str = ""
    truncated: str = ""  # the value of WARC-Truncated
    hops: str = ""  # Heritrix's hopsFromSeed: one letter a hop
    via: str = ""  # the URL that led here


_like_data_class = make_dataclass(
    "_", Capture._fields, init=False, repr=False, eq=False, namespace={"__doc__": "A Capture."}
)  # for `dataclasses.replace` and `fields`
setattr(Capture, _FIELDS, getattr(_like_data_class, _FIELDS))


class Link(NamedTuple):
    """An outlink: absolute URL and anchor text; `kind` is a, img, area, …"""

    url: str
    text: str = ""
    kind: str = "a"


@dataclass(frozen=True, slots=True)
class LinkCell:
    """A selection of links to count, by year and collection; None and "" select all."""

    year: int | None = None
    collection: str = ""


@dataclass(frozen=True, slots=True)
class Anchor:
    """An anchor text of links to a URL, and the numbers of URLs and hosts that use it."""

    text: str
    documents: int
    hosts: int


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of the links to a URL in a cell, without links of the URL to itself.

    `documents` is the number of distinct linking URLs (by urlkey), `hosts` and `domains` those of
    their hosts and domains. `first` and `last` are the earliest and latest capture of a linking
    page. `kinds` maps a kind (a, img, …) to its number of linking URLs. `anchors` are the texts of
    links from other hosts, `own_anchors` from the same host, most frequent first, ties by text, at
    most ANCHORS_KEPT each.
    """

    documents: int = 0
    hosts: int = 0
    domains: int = 0
    first: str = ""
    last: str = ""
    kinds: Mapping[str, int] = field(default_factory=dict)
    anchors: tuple[Anchor, ...] = ()
    own_anchors: tuple[Anchor, ...] = ()


class Inlink(NamedTuple):
    """A link to a URL: the linking page, its first capture with the link, and the link.

    `urlkey` is that of the page. Versions of a page with the same link and text are listed once.
    """

    url: str
    urlkey: str
    timestamp: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Extract:
    """Result of `nwx.extract` for a payload.

    `content` is all visible text, NFC, with blocks separated by newlines. `signature` is equal for
    near-identical texts, "" for short ones. `problems` says why the extract is incomplete. `fields`
    are those of `nwx.mappings.enriched_fields`, with dates as 2014-03-25T12:17:32Z.
    """

    title: str = ""
    content: str = ""
    headings: tuple[str, ...] = ()
    description: str = ""
    author: str = ""
    content_language: str = ""  # ISO 639-1, "" if unsure
    links: tuple[Link, ...] = ()
    signature: str = ""
    problems: tuple[str, ...] = ()
    fields: Mapping[str, str | tuple[str | int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """One version of one URL with its text; `capture` is its earliest capture."""

    capture: Capture
    extract: Extract


@dataclass(frozen=True, slots=True)
class Dates:
    """A document key and its dates: sorted pairs of timestamp and collection."""

    key: str
    seen: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A ledger entry: how far a file of a collection has been imported.

    Everything before offset `done_to` (bytes) is in the indices; `finished` means the whole file.
    `checksum` is `nwx.warc.checksums.checksum` of the content. `counts` has totals of the file
    (records by type, captures, errors). `requires` is `relation.requires` of its WACZ.
    """

    collection: str
    name: str
    path: str
    size: int | None
    checksum: str
    done_to: int = 0
    finished: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    requires: tuple[Mapping[str, str | int], ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """The data of one write: atomic if the engine supports it, else safe to repeat."""

    documents: tuple[Document, ...] = ()
    captures: tuple[Capture, ...] = ()
    dates: tuple[Dates, ...] = ()
    files: tuple[SourceFile, ...] = ()
    amended: tuple[Document, ...] = ()  # also replace those of the same capture


@dataclass(frozen=True, slots=True)
class Written:
    """Counts of new entries in a batch; `replaced` documents were of a later capture or amended."""

    documents: int = 0
    replaced: int = 0
    captures: int = 0
    dates: int = 0


@dataclass(frozen=True, slots=True)
class ReadError:
    """A record, or the rest of a file, that could not be read; reading continues."""

    file: str
    offset: int | None
    kind: str  # one word a cause: gzip, header, length, date, url, digest, extract, …
    message: str


class Sort(StrEnum):
    """Sort orders: by score with pages first or with all types alike, by date, by linking pages."""

    RELEVANCE = "relevance"
    ALL_TYPES = "all-types"
    OLDEST = "oldest"
    NEWEST = "newest"
    INLINKS = "inlinks"


class Collapse(StrEnum):
    """Which documents become one hit: versions of a URL, near-identical texts, or none."""

    URL = "url"
    SIMILAR = "similar"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Total:
    """A count, exact (`eq`) or a lower bound (`gte`)."""

    value: int
    relation: str = "eq"


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """Parts of a score: the higher of `text` and `anchor` plus a part of the lower, times a factor.

    `text` is the score of the document's own words, `anchor` that of its links' anchor texts or 0.
    """

    text: float
    anchor: float
    inlink_factor: float
    linking_domains: int


@dataclass(frozen=True, slots=True)
class FoundByLinks:
    """The anchor text that matched in place of a document's words, and its number of hosts."""

    anchor: str
    hosts: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A document found by a query.

    `dates` are all its timestamps, in order. `snippet` has pieces of text, each with whether it
    matches. `versions` counts the matching documents folded into this hit (1 without collapsing).
    `score_parts` is set by relevance with inlinks, `found_by_links` if its own words do not match.
    `signature` is equal for near-identical texts; `copy_of` is an earlier hit's id with this text.
    """

    id: str
    url: str
    digest: str
    title: str
    dates: tuple[str, ...]
    score: float
    snippet: tuple[tuple[str, bool], ...] = ()
    versions: int = 1
    host: str = ""
    domain: str = ""
    collections: tuple[str, ...] = ()
    status_code: int | None = None
    content_type: str = ""
    content_type_norm: str = ""
    content_language: str = ""
    content_length: int | None = None
    score_parts: ScoreParts | None = None
    found_by_links: FoundByLinks | None = None
    signature: str = ""
    copy_of: str = ""


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet, and the number of documents in the result that have it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """An engine's answer to a search.

    `total` counts hits (URLs when collapsed by URL); `documents` and facets count documents. Facets
    are sorted by frequency, then value; years by year. `missing_shards` of `shards` did not answer.
    """

    total: Total
    documents: Total
    hits: tuple[Hit, ...]
    facets: Mapping[str, tuple[FacetValue, ...]]
    took_ms: float
    missing_shards: int = 0
    shards: int = 0
    most_words: bool = False  # no document has all words


@dataclass(frozen=True, slots=True)
class IndexStats:
    """The entries and bytes of an index, None if the engine cannot report them."""

    entries: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class NamedDates:
    """A dates index of an archive, the main one or another, attached or not.

    `entries` counts keys, `dates` their pairs of timestamp and collection; None with a `problem`.
    """

    name: str
    address: str
    attached: bool
    entries: int | None = None
    dates: int | None = None
    bytes: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Similarity of a page at crawl time and in playback, as in Browsertrix's `pageinfo`.

    `screenshot` and `text` are 0 to 1, or None; bad resources have a status of 400 or more.
    """

    screenshot: float | None = None
    text: float | None = None
    crawl_good: int | None = None
    crawl_bad: int | None = None
    replay_good: int | None = None
    replay_bad: int | None = None


class RenderPlace(NamedTuple):
    """Location of a render's record: a path or address, and its byte range as stored."""

    path: str
    offset: int
    length: int
