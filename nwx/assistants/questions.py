"""The parameters of each tool that assistants have; their descriptions are made of these."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

USUAL_TOKENS = 2_000
MOST_LISTED = 10_000
"""So far lists can be paged."""

_Cursor = Annotated[
    str,
    Meta(
        pattern="^[0-9]{0,5}$",
        description="next_cursor of the answer before, for what follows it",
    ),
]
_Tokens = Annotated[
    int, Meta(ge=600, le=20_000, description="length of the answer; a token is taken as 4 bytes")
]
_Query = Annotated[
    str,
    Meta(description='words, "phrases", AND OR NOT, field:value, wild*cards', max_length=2_000),
]
_Url = Annotated[
    str, Meta(description="a URL; http:// and www. make no difference", max_length=8_000)
]
_Date = Annotated[str, Meta(description="2012, 2012-05, 2012-05-31 or 14 digits", max_length=30)]
_Name = Annotated[str, Meta(max_length=300)]
_Quote = Annotated[
    str,
    Meta(
        description="the exact words; white space, shapes of quotation marks and soft hyphens do"
        " not matter",
        max_length=10_000,
    ),
]


class ToolParameters(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"from_": "from"}
):
    """What every tool takes: where to go on, and how long the answer may be."""

    cursor: _Cursor = ""
    max_tokens: _Tokens = USUAL_TOKENS

    @property
    def start(self) -> int:
        """The number of items that earlier answers had."""
        return int(self.cursor or 0)


class SpanParameters(ToolParameters, frozen=True, kw_only=True):
    """Between two dates."""

    from_: _Date = ""
    to: _Date = ""


class SearchAsked(SpanParameters, frozen=True):
    """Find documents by their words, best first."""

    query: _Query
    host: _Name = ""
    domain: _Name = ""
    collection: _Name = ""
    language: _Name = ""
    type: Annotated[str, Meta(description="html, pdf, image …", max_length=50)] = ""
    sort: Literal["relevance", "all-types", "newest", "oldest", "inlinks"] = "relevance"


class DocumentAsked(ToolParameters, frozen=True):
    """Read the text of a document, by URL and date or by id."""

    url: _Url = ""
    date: Annotated[str, Meta(description="the capture nearest to it; the newest without")] = ""
    id: Annotated[str, Meta(description="in place of url and date", max_length=32)] = ""


class UrlAsked(ToolParameters, frozen=True):
    """List the versions of a URL."""

    url: _Url


class CapturesAsked(SpanParameters, frozen=True):
    """List the captures of a URL, folder or site."""

    url: Annotated[
        str,
        Meta(description="http://example.org/, example.org/* or *.example.org", max_length=8_000),
    ]
    collection: _Name = ""


class QuoteAsked(SpanParameters, frozen=True):
    """Find since when and until when words stood on pages."""

    text: _Quote
    url: _Url = ""
    site: Annotated[str, Meta(description="a domain or host", max_length=300)] = ""


class VerifyAsked(ToolParameters, frozen=True):
    """Check whether a quotation stands word for word in a capture."""

    text: _Quote
    url: _Url = ""
    date: Annotated[
        str, Meta(description="only captures of this year, month, day or moment", max_length=30)
    ] = ""


class DiffAsked(ToolParameters, frozen=True):
    """Show what changed on a page between two dates."""

    url: _Url
    old: _Date
    new: _Date


class FacetsAsked(ToolParameters, frozen=True):
    """Count captures by year, site, type …"""

    by: Annotated[
        list[str],
        Meta(description="criteria: year, month, site, type, language, status …", max_length=2),
    ] = []
    where: Annotated[
        list[str], Meta(description='conditions: "tld=org", "type!=html"', max_length=20)
    ] = []


class TrendsAsked(SpanParameters, frozen=True):
    """Compare queries over time."""

    queries: Annotated[list[_Query], Meta(min_length=1, max_length=6)]
    by: Literal["year", "month"] = "year"


class LinksAsked(ToolParameters, frozen=True):
    """List who links to a page or host, or its links."""

    of: Annotated[str, Meta(description="a URL or host", max_length=8_000)]
    direction: Literal["in", "out"] = "in"


class MissingAsked(SpanParameters, frozen=True):
    """List URLs that pages need and nobody captured."""

    site: Annotated[str, Meta(description="of pages of this host", max_length=300)] = ""
    host: Annotated[str, Meta(description="URLs of this host", max_length=300)] = ""


def schema_of(kind: type[ToolParameters]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's parameters."""
    _, parts = msgspec.json.schema_components([kind])
    return {name: value for name, value in parts[kind.__name__].items() if name != "description"}
