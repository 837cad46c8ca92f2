"""A checked CDX query, its parameters, and the defaults and limits of the three dialects."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from urllib.parse import parse_qsl

from nwx.cdx.layouts import EXTRA_FIELDS, FIELD_PLACES, ORIGINAL_FIELDS
from nwx.cdxserver.filters import CdxFilter, Collapsing, Grammar
from nwx.engine.capture_index import CdxSpan
from nwx.errors import CdxQueryError, TimestampError
from nwx.values.digests import DigestForm
from nwx.values.timestamps import parse_timestamp


class OutputForm(StrEnum):
    """The formats of an answer."""

    TEXT = "text"
    JSON = "json"
    CDXJ = "cdxj"
    JSONDICT = "jsondict"


class MatchType(StrEnum):
    """How a URL selects captures; `RANGE` selects all from its urlkey to the end."""

    EXACT = "exact"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"
    RANGE = "range"


class RowOrder(StrEnum):
    """The order of rows: by urlkey and time, reversed, or closest to a time first."""

    DEFAULT = "default"
    REVERSE = "reverse"
    CLOSEST = "closest"


@dataclass(frozen=True, slots=True)
class Resume:
    """The end of an answer: urlkey and time of its last capture, and the rows read with both."""

    urlkey: str
    timestamp: str
    read: int


@dataclass(frozen=True, slots=True)
class Paging:
    """A request for one page, or with `count` the number of pages; `size` is in blocks of lines."""

    page: int
    size: int
    count: bool


@dataclass(frozen=True)
class CdxQuery:
    """A CDX query.

    `limit` None means all. `newest` selects the newest originals instead of the first captures.
    `digest` is the spelling of digests in the answer, None for unchanged. `with_originals` appends
    the originals of revisits that are not in the answer; `resolve_revisits` adds the location of
    the original to revisits. With `collapse_first`, captures are collapsed in their usual order,
    and then reversed.
    """

    span: CdxSpan
    urlkey: str  # "" if the query is not for one URL
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
        """Return the same query for another span, faster than with `replace`."""
        other = object.__new__(CdxQuery)
        other.__dict__.update(self.__dict__, span=span, urlkey=urlkey)
        return other


@dataclass(frozen=True, slots=True)
class Dialect:
    """The query and answer conventions of a kind of CDX server.

    `fields` are the fields of text and JSON rows; CDXJ without `fl` has all. `digest` is the
    spelling of digests, None for unchanged. `limit` and `page_blocks` are defaults; without
    `page_blocks` the dialect has no pages. `json_lines` writes one object per line, `json_numbers`
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
        """Return the fields of an answer: the requested or the default fields."""
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


MOST_PARAMETERS = 200
MOST_VALUE_CHARACTERS = 16_384
LARGEST_LIMIT = 1_000_000_000
"""The largest limit that a query may have."""

_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")
_DIGITS = re.compile(r"[0-9]+")
_LOWEST = "00000101000000"
_ZEROS = "0" * 14
_NO_YEAR = "0000"


class Parameters:
    """The names and values of a query string, in UTF-8."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def only(self, name: str) -> str:
        """Return the value of the only parameter, if it has this name and one value, else ""."""
        values = self._values.get(name, ()) if len(self._values) == 1 else ()
        return values[0] if len(values) == 1 else ""

    def has_any(self, names: Collection[str]) -> bool:
        """Return whether any of these parameters is given."""
        return not self._values.keys().isdisjoint(names)

    def others(self, names: Collection[str]) -> tuple[tuple[str, str], ...]:
        """Return names and values of all parameters but these."""
        return tuple(
            (name, value)
            for name, values in self._values.items()
            if name not in names
            for value in values
        )

    def all(self, name: str) -> Sequence[str]:
        """Return all non-empty values of a parameter."""
        return [value for value in self._values.get(name, ()) if value]

    def text(self, name: str, default: str = "") -> str:
        """Return the value of a parameter; raises CdxQueryError if it has different values."""
        values = self._values.get(name)
        if values is None:
            return default
        if len(values) > 1 and len(set(values)) > 1:
            raise CdxQueryError(f"{name} is given with different values; choose one")
        return values[0] or default

    def truth(self, name: str) -> bool:
        """Return the value of a boolean parameter; raises CdxQueryError on an invalid one."""
        text = self.text(name).lower()
        if text not in (*_TRUE, *_FALSE):
            raise CdxQueryError(f"{name} is {text[:40]!r}; write true or false")
        return text in _TRUE

    def number(self, name: str, default: int | None, low: int, high: int) -> int | None:
        """Return a whole number from `low` to `high`; raises CdxQueryError on anything else."""
        text = self.text(name).strip()
        if not text:
            return default
        digits = text.removeprefix("-")
        plain = _DIGITS.fullmatch(digits) is not None and len(digits) < 19
        if not plain or not low <= int(text) <= high:
            raise CdxQueryError(
                f"{name} is {text[:40]!r}; write a whole number from {low} to {high}"
            )
        return int(text)

    def date(self, *names: str) -> str:
        """Return the digits of the first of these dates that is given, at most 14, "" if none.

        Raises CdxQueryError if the digits cannot begin a date.
        """
        for name in names:
            text = self.text(name)
            if text and not (_DIGITS.fullmatch(text) and len(text) < 18):
                raise CdxQueryError(f"{name} is {text[:40]!r}; write up to 14 digits, such as 2010")
            if fault := _fault_of_date(text[:14]):
                raise CdxQueryError(f"{name} is {text!r}: {fault}")
            if text:
                return text[:14]
        return ""

    def moment(self, name: str) -> str:
        """Return a date as 14 digits, missing parts at their lowest value, "" if none is given."""
        text = self.date(name)
        if not text:
            return ""
        full = text + _LOWEST[len(text) :]
        with CdxQueryError.instead_of(TimestampError, f"{name} is {text!r}"):
            parse_timestamp(full)
        return full


def _fault_of_date(digits: str) -> str:
    """Return why digits cannot begin a date, "" if they can; the year 0 means any date."""
    fault = ""
    if digits.startswith(_NO_YEAR[: len(digits)]):
        return fault
    # The next digit may have to be 0: 2010043 is the start of 20100430.
    for filling in (_LOWEST, _ZEROS):
        try:
            parse_timestamp(digits + filling[len(digits) :][:1] + _LOWEST[len(digits) + 1 :])
        except TimestampError as error:
            fault = fault or str(error)
        else:
            return ""
    return fault


def parameters_of(query_string: str) -> Parameters:
    """Parse a query string.

    Raises CdxQueryError on too many or overlong parameters, and on invalid UTF-8.
    """
    try:
        pairs = _plain_pairs(query_string) or parse_qsl(
            query_string,
            keep_blank_values=True,
            errors="surrogateescape",
            max_num_fields=MOST_PARAMETERS,
        )
    except ValueError as error:
        raise CdxQueryError(f"at most {MOST_PARAMETERS} parameters are allowed") from error
    for name, value in pairs:
        if len(value) > MOST_VALUE_CHARACTERS:
            raise CdxQueryError(
                f"{name[:40]} has {len(value)} characters; "
                f"at most {MOST_VALUE_CHARACTERS} are allowed"
            )
        if not value.isascii() and any("\udc80" <= sign <= "\udcff" for sign in value):
            raise CdxQueryError(
                f"{name[:40]!r} is not valid UTF-8; write the percent signs of a URL as %25"
            )
    return Parameters(pairs)


def _plain_pairs(query_string: str) -> list[tuple[str, str]]:
    """Return the result of `parse_qsl` for a short query string without escapes, [] for others."""
    if "%" in query_string or "+" in query_string or query_string.count("&") >= MOST_PARAMETERS:
        return []
    parts = [part.partition("=") for part in query_string.split("&") if part]
    return [(name, value) for name, _, value in parts]


KNOWN = frozenset(
    (
        *("url", "urlkey", "matchType", "method", "requestBody", "collection", "dialect"),
        *("from", "from_ts", "to", "filter", "sort", "reverse", "closest", "limit", "offset"),
        *("collapse", "collapseToFirst", "collapseToLast", "collapseTime"),
        *("fl", "fields", "output", "digest", "gzip", "withOriginals", "resolveRevisits"),
        *("showResumeKey", "resumeKey", "page", "pageSize", "showNumPages"),
    )
)
_FIELDS = frozenset((*FIELD_PLACES, *EXTRA_FIELDS))
_CONTROLS_ACCESS = "accesspoint"
_NEAR = 0.8


def check_names(names: Iterable[str]) -> None:
    """Raise CdxQueryError on an unknown name that is likely to be a mistake."""
    for name in names:
        if name in KNOWN:
            continue
        if name == _CONTROLS_ACCESS:
            raise CdxQueryError(f"{name} is not supported: there are no access rules here")
        if name in _FIELDS:
            raise CdxQueryError(f"{name} is a field, not a parameter; write filter={name}:VALUE")
        near = _nearest(name)
        if near:
            raise CdxQueryError(f"there is no parameter {name[:40]!r}; did you mean {near}?")


def _nearest(name: str) -> str:
    """Return the known name most similar to a name, "" if none is."""
    lowered = {known.lower(): known for known in sorted(KNOWN)}
    plain = name[:40].lower().replace("_", "").replace("-", "")
    found = get_close_matches(plain, lowered, 1, _NEAR)
    return lowered[found[0]] if found else ""
