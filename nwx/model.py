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
"""How HTML is read by `nwx.extract`: by lexbor, or by BeautifulSoup with lxml."""

STANDARD_INPUT = "-"
"""How standard input is named where a path is asked for."""

EXCLUDED, UNDEDUPLICATED, UNREADABLE = "excluded", "undeduplicated", "unreadable"
"""Counts of a file: captures that were left out, those that may have their own document, and 1
where nothing of it could be read; such an entry gives way to that of any file of its name."""

PURGED, DIGESTED = "purged", "digested"
"""Counts of captures that access rules keep out, and of those imported with further digests."""

ANCHORS_KEPT = 100
"""So many anchor texts of the links to a URL are kept, from other hosts and from its own each."""

ANCHOR_CHARACTERS = 1_000
"""The longest anchor text; what is behind is cut off."""

MAIN_DATES = "main"
"""The name of the dates index that every archive has; others are named by who makes them."""


class IndexName(StrEnum):
    """The indices of an archive; the values are names of `mappings/*.json`."""

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
    `record_length` is in bytes as stored (compressed), `content_length` the payload's; None if
    unknown. `document_id` is the id of `<url> <digest>`, "" without a digest. A quick tuple.
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
    """The links counted: of a year, of a collection, of both; None and "" are all."""

    year: int | None = None
    collection: str = ""


@dataclass(frozen=True, slots=True)
class Anchor:
    """An anchor text of the links to a URL: how many URLs on how many hosts link with it."""

    text: str
    documents: int
    hosts: int


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of the links to a URL in a cell, without links of the URL to itself.

    `documents` is the number of distinct linking URLs (by urlkey), `hosts` and `domains` of their
    hosts and domains. `first` and `last` are the earliest and latest capture of a linking page.
    `kinds` has the number of linking URLs by kind (a, img, …). `anchors` are the texts of links
    from other hosts, `own_anchors` of links from the same host, most frequent first, ties by text,
    at most ANCHORS_KEPT each.
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

    `urlkey` is the page's. Versions of a page with the same link and text are listed once.
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
    near-identical texts, "" for short ones. `problems` describes what cut the extraction. `fields`
    are those of `nwx.mappings.enriched_fields`, dates as 2014-03-25T12:17:32Z.
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
    """One version of one URL with its text; `capture` is the earliest that holds it."""

    capture: Capture
    extract: Extract


@dataclass(frozen=True, slots=True)
class Dates:
    """A document key and all captures of it: pairs of timestamp and collection, in order."""

    key: str
    seen: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A ledger entry: how far a file of a collection has been imported.

    Everything before `done_to` (bytes) is in the indices; `finished` once the whole file is.
    `checksum` is `nwx.warc.sources.checksum` of the content. `counts` sums the file's content
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
    """Data of one write: atomic if the engine can, else safe to repeat."""

    documents: tuple[Document, ...] = ()
    captures: tuple[Capture, ...] = ()
    dates: tuple[Dates, ...] = ()
    files: tuple[SourceFile, ...] = ()
    amended: tuple[Document, ...] = ()  # in the place of those of the same capture too


@dataclass(frozen=True, slots=True)
class Written:
    """Entries of a batch that were new; `replaced` were of a later capture, or are amended."""

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
    """Sort orders: pages before files and errors or both alike, by all dates, by linking pages."""

    RELEVANCE = "relevance"
    ALL_TYPES = "all-types"
    OLDEST = "oldest"
    NEWEST = "newest"
    INLINKS = "inlinks"


class Collapse(StrEnum):
    """Documents folded into one hit: versions of a URL, near-identical texts, none."""

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
    """Parts of a score: the higher of `text` and `anchor` with a part of the lower, times a factor.

    `text` is that of its own words, `anchor` that of the anchor texts of links to it, or 0.
    """

    text: float
    anchor: float
    inlink_factor: float
    linking_domains: int


@dataclass(frozen=True, slots=True)
class FoundByLinks:
    """The anchor text that a document without the words was found by, and on how many hosts."""

    anchor: str
    hosts: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A document found.

    `dates` are all its timestamps, in order. `snippet` is pieces of text and whether each is a
    match. `versions` counts the documents of the query folded into this hit (1 without collapsing).
    `score_parts` is set by relevance with inlinks, `found_by_links` where own words do not match.
    `signature` is equal for nearly equal texts; `copy_of` is an earlier hit's id with this text.
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
    """A value of a facet, and how many documents of the result have it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """An engine's answer.

    `total` counts hits (URLs when collapsed by URL), `documents` the documents in them, facets too:
    most frequent first, then by value; years in order. `missing_shards` of all `shards` are absent.
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
    """Entries of an index and its bytes; None if the engine cannot report it."""

    entries: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class NamedDates:
    """A dates index of an archive: the main one, or another, attached or not.

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
    """Likeness of a page in its crawl and in playback, as Browsertrix's `pageinfo` stores it.

    `screenshot` and `text` are 0 to 1, None without either; bad resources have a status from 400.
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
