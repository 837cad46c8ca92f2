"""A checked CDX query, and the defaults and limits of the three dialects."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from nwx.cdx.layouts import ORIGINAL_FIELDS
from nwx.cdxserver.filters import CdxFilter, Collapsing, Grammar
from nwx.engine.capture_index import CdxSpan
from nwx.errors import CdxQueryError
from nwx.values.digests import DigestForm


class OutputForm(StrEnum):
    """Forms of an answer."""

    TEXT = "text"
    JSON = "json"
    CDXJ = "cdxj"
    JSONDICT = "jsondict"


class MatchType(StrEnum):
    """How a URL selects captures; `RANGE` those from its urlkey on to the end."""

    EXACT = "exact"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"
    RANGE = "range"


class RowOrder(StrEnum):
    """By key and time, the other way round, or the closest to a time first."""

    DEFAULT = "default"
    REVERSE = "reverse"
    CLOSEST = "closest"


@dataclass(frozen=True, slots=True)
class Resume:
    """Where an answer ended: the captures of this key and time, and how many were read of them."""

    urlkey: str
    timestamp: str
    read: int


@dataclass(frozen=True, slots=True)
class Paging:
    """One page of an answer, or with `count` their number; sizes are in blocks of lines."""

    page: int
    size: int
    count: bool


@dataclass(frozen=True)
class CdxQuery:
    """A CDX query.

    `limit` None means all. `newest` selects the newest originals instead of the first captures.
    `digest` is the spelling of digests in the answer, None for unchanged. `with_originals` appends
    the originals of revisits that are not in the answer; `resolve_revisits` adds the location of
    the original to revisits. With `collapse_first` captures are collapsed in their usual order, and
    then reversed.
    """

    span: CdxSpan
    urlkey: str  # "" where not one but many are asked for
    date_from: str = ""
    date_to: str = ""
    filters: tuple[CdxFilter, ...] = ()
    collapsing: tuple[Collapsing, ...] = ()
    order: RowOrder = RowOrder.DEFAULT
    closest: str = ""
    limit: int | None = None
    newest: bool = False
    collapse_first: bool = False
    offset: int = 0
    fields: tuple[str, ...] = ()
    output: OutputForm = OutputForm.TEXT
    digest: DigestForm | None = None
    resume: Resume | None = None
    show_resume_key: bool = False
    paging: Paging | None = None
    with_originals: bool = False
    resolve_revisits: bool = False

    def for_span(self, span: CdxSpan, urlkey: str) -> "CdxQuery":
        """Return the same question about another place, faster than `replace` does."""
        other = object.__new__(CdxQuery)
        other.__dict__.update(self.__dict__, span=span, urlkey=urlkey)
        return other


@dataclass(frozen=True, slots=True)
class Dialect:
    """The query and answer conventions of a kind of CDX server.

    `fields` are the fields of text and JSON rows; CDXJ without `fl` has all. `digest` is the
    spelling of digests, None for unchanged. `limit` and `page_blocks` are defaults; without
    `page_blocks` the dialect has no pages. `json_lines` writes one object a line, `json_numbers`
    arrays that always begin with the field names and keep numbers as numbers.
    """

    name: str
    grammar: Grammar
    output: OutputForm
    media_types: Mapping[OutputForm, str]
    fields: tuple[str, ...]
    digest: DigestForm | None
    limit: int | None = None
    zero_is_all: bool = True
    closest_needs_sort: bool = True
    many_urls_in_order_only: bool = False
    page_blocks: int = 0
    pages_as_object: bool = False
    json_lines: bool = False
    json_numbers: bool = False
    resumes: bool = False
    resolves_revisits: bool = False

    def fields_of(self, query: CdxQuery) -> tuple[str, ...]:
        """Return the fields of an answer: those asked for, or the usual ones."""
        added = ORIGINAL_FIELDS if query.resolve_revisits else ()
        return query.fields or (*self.fields, *added)


_TEXT, _JSON, _LINES, _CDXJ = "text/plain", "application/json", "text/x-ndjson", "text/x-cdxj"

IA = Dialect(
    name="ia",
    grammar=Grammar.IA,
    output=OutputForm.TEXT,
    media_types=MappingProxyType(
        {OutputForm.TEXT: _TEXT, OutputForm.JSON: _JSON, OutputForm.CDXJ: _CDXJ}
    ),
    fields=("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"),
    digest=DigestForm.BARE,
    page_blocks=50,
    resumes=True,
    resolves_revisits=True,
)

PYWB = Dialect(
    name="pywb",
    grammar=Grammar.PYWB,
    output=OutputForm.CDXJ,
    media_types=MappingProxyType(
        {OutputForm.TEXT: _TEXT, OutputForm.JSON: _LINES, OutputForm.CDXJ: _CDXJ}
    ),
    fields=(
        *("urlkey", "timestamp", "url", "mime", "status", "digest"),
        *("redirect", "robotflags", "length", "offset", "filename"),
    ),
    digest=DigestForm.NORMAL,
    limit=100_000,
    closest_needs_sort=False,
    page_blocks=10,
    pages_as_object=True,
    json_lines=True,
    resolves_revisits=True,
)

OUTBACK = Dialect(
    name="outback",
    grammar=Grammar.OUTBACK,
    output=OutputForm.TEXT,
    media_types=MappingProxyType(
        {
            OutputForm.TEXT: _TEXT,
            OutputForm.JSON: _JSON,
            OutputForm.CDXJ: _CDXJ,
            OutputForm.JSONDICT: _JSON,
        }
    ),
    fields=(
        *("urlkey", "timestamp", "url", "mime", "status", "digest"),
        *("redirecturl", "robotflags", "length", "offset", "filename"),
    ),
    digest=DigestForm.BARE,
    zero_is_all=False,
    many_urls_in_order_only=True,
    json_numbers=True,
)

DIALECTS = MappingProxyType({dialect.name: dialect for dialect in (IA, PYWB, OUTBACK)})


def dialect_named(name: str) -> Dialect:
    """Return the dialect with a name. Raises CdxQueryError on an unknown name."""
    found = DIALECTS.get(name.lower())
    if found is None:
        raise CdxQueryError(f"dialect is {name[:40]!r}; choose one of {', '.join(DIALECTS)}")
    return found
