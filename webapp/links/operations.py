"""What programs can ask of links, and the answers."""

from dataclasses import dataclass

import msgspec

from nwx.charts.fields import SCHEMES
from nwx.links.missing_urls import KIND_GROUPS
from nwx.searching.answers import Count, Timestamp
from nwx.values.urls import KINDS
from webapp.links.view import GRAPH_TOPS, Level, PointSize
from webapp.site.openapi import COUNT, ERRORS, NOT_FOUND, Operation, Parameter


@dataclass(frozen=True, slots=True)
class AnchorAnswer:
    """An anchor text, and the number of URLs that link with it."""

    text: str
    count: Count


@dataclass(frozen=True, slots=True)
class InlinkAnswer:
    """A link: the page that has it, the first capture of that page, the kind and the text."""

    url: str
    timestamp: Timestamp
    kind: str
    text: str


class LinksAnswer(msgspec.Struct, frozen=True, rename={"sources": "from"}):
    """The links to a URL; `documents` counts distinct linking URLs other than itself.

    `anchors` are of links from other hosts, `own_anchors` of those from the
    same host. `first` and `last` are null where nothing links to the URL.
    `from` lists links. (No dataclass, as `from` is a word of Python.)
    """

    url: str
    documents: Count
    hosts: Count
    domains: Count
    first: Timestamp | None
    last: Timestamp | None
    kinds: dict[str, int]
    anchors: tuple[AnchorAnswer, ...]
    own_anchors: tuple[AnchorAnswer, ...]
    sources: tuple[InlinkAnswer, ...]
    status: int | None
    captured: bool


@dataclass(frozen=True, slots=True)
class GraphHostAnswer:
    """A host of a graph: its links to and from the centre, or all others without one."""

    host: str
    links_to: Count
    links_from: Count
    hosts_in: Count
    documents: Count


@dataclass(frozen=True, slots=True)
class GraphLinkAnswer:
    """The number of links of a host to another: pairs of linking and linked URL."""

    source: str
    target: str
    links: Count


@dataclass(frozen=True, slots=True)
class LinkGraphAnswer:
    """Hosts, or domains, around one, and the links among them; `found` counts before `top`."""

    centre: str
    level: Level
    year: int | None
    found: Count
    hosts: tuple[GraphHostAnswer, ...]
    links: tuple[GraphLinkAnswer, ...]


@dataclass(frozen=True, slots=True)
class MissingAnswer:
    """A URL that so many pages need; `status` is null where it was never captured."""

    url: str
    kind: str
    pages: Count
    status: int | None


LINKS_PARAMETERS = (
    Parameter("url", "the linked URL; http:// and www. make no difference", required=True),
    Parameter("year", "links of pages captured in this year", {**COUNT, "maximum": 9999}),
    Parameter("collection", "links of pages of this collection"),
    Parameter("offset", "the links to skip", {**COUNT, "default": 0}),
    Parameter("limit", "the links to return", {**COUNT, "maximum": 1000, "default": 100}),
)
GRAPH_PARAMETERS = (
    Parameter("host", "the host or domain in the middle; the most linked ones without it"),
    Parameter("level", "what is linked", {"enum": list(Level), "default": "hosts"}),
    Parameter("year", "links of pages captured in this year", {**COUNT, "maximum": 9999}),
    Parameter("top", "the most hosts", {"enum": list(GRAPH_TOPS), "default": GRAPH_TOPS[1]}),
    Parameter("size", "what the size of a point tells", {"enum": list(PointSize)}),
)
_MISSING = (
    Parameter("kind", "the kind of link", {"enum": [*KIND_GROUPS, *KINDS]}),
    Parameter("site", "needed by pages of this host, or of one below it"),
    Parameter("host", "missing on this host, or on one below it"),
    Parameter("collection", "needed by pages of this collection"),
    Parameter("from", "needed by pages captured at or after this date"),
    Parameter("to", "needed by pages captured at or before the end of this date"),
)
MISSING_PARAMETERS = (
    *_MISSING,
    Parameter("limit", "the URLs to return", {**COUNT, "maximum": 10_000, "default": 100}),
)

LINK_OPERATIONS = (
    Operation(
        "links",
        "/api/links",
        "The links to a URL, captured or not: counts, anchor texts, linking pages",
        LINKS_PARAMETERS,
        LinksAnswer,
        errors={**ERRORS, **NOT_FOUND},
        example="/api/links?url=http%3A%2F%2Fexample.com%2F",
    ),
    Operation(
        "linkGraph",
        "/api/links/graph",
        "The hosts, or domains, that link to one and that it links to",
        GRAPH_PARAMETERS,
        LinkGraphAnswer,
        errors={**ERRORS, **NOT_FOUND},
        example="/api/links/graph?level=domains",
    ),
    Operation(
        "missing",
        "/api/missing",
        "What captured pages need and the archive lacks",
        MISSING_PARAMETERS,
        tuple[MissingAnswer, ...],
        errors={**ERRORS, **NOT_FOUND},
        example="/api/missing?kind=embedded",
    ),
    Operation(
        "exportMissing",
        "/missing/urls.{suffix}",
        "All of that as a file: CSV, JSON, or a list of URLs",
        (
            Parameter("suffix", "the format", {"enum": ["csv", "json", "txt"]}, place="path"),
            *_MISSING,
        ),
        media_types=("text/csv", "application/json", "text/plain"),
        errors={**ERRORS, **NOT_FOUND},
    ),
    Operation(
        "exportLinkGraph",
        "/links/graph.{form}",
        "The graph of hosts as a picture",
        (
            Parameter("form", "the format", {"enum": ["svg", "png"]}, place="path"),
            Parameter("scheme", "the colours", {"enum": list(SCHEMES)}),
            *GRAPH_PARAMETERS,
        ),
        media_types=("image/svg+xml", "image/png"),
        errors={**ERRORS, **NOT_FOUND},
    ),
)
