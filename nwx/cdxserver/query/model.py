"""A question to a CDX server, checked, whatever dialect it was asked in."""

from dataclasses import dataclass
from enum import StrEnum

from nwx.cdxserver.query.filters import CdxFilter, Collapsing
from nwx.engine.capture_index import CdxSpan
from nwx.values.digests import DigestForm


class OutputForm(StrEnum):
    """Forms of an answer."""

    TEXT = "text"
    JSON = "json"
    CDXJ = "cdxj"
    JSONDICT = "jsondict"


class MatchType(StrEnum):
    """How a URL selects captures."""

    EXACT = "exact"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"


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


@dataclass(frozen=True, slots=True)
class CdxQuery:
    """What is asked for.

    `limit` None means all, `newest` that the newest originals are wanted
    rather than the first captures. `digest` is how digests are spelled in
    the answer, None as they are. `with_originals` adds, behind all others,
    the originals of revisits that are not among them. With
    `collapse_first` captures are collapsed in their usual order, and then
    turned round.
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

    def at(self, span: CdxSpan, urlkey: str) -> "CdxQuery":
        """Return the same question about another place, faster than `replace` does."""
        other = object.__new__(CdxQuery)
        put = object.__setattr__
        for name in CdxQuery.__slots__:
            put(other, name, getattr(self, name))
        put(other, "span", span)
        put(other, "urlkey", urlkey)
        return other
