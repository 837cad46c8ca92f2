"""A question to a CDX server, checked, whatever dialect it was asked in."""

from dataclasses import dataclass
from enum import StrEnum

from nwx.cdxserver.filters import Collapsing, Filter
from nwx.engine.spans import Span
from nwx.formats.digest import Form


class Output(StrEnum):
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


class Order(StrEnum):
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
class Query:
    """What is asked for.

    `limit` None means all, `newest` that the newest originals are wanted
    rather than the first captures. `digest` is how digests are spelled in
    the answer, None as they are. `with_originals` adds, behind all others,
    the originals of revisits that are not among them.
    """

    span: Span
    urlkey: str  # "" where not one but many are asked for
    date_from: str = ""
    date_to: str = ""
    filters: tuple[Filter, ...] = ()
    collapsing: tuple[Collapsing, ...] = ()
    order: Order = Order.DEFAULT
    closest: str = ""
    limit: int | None = None
    newest: bool = False
    offset: int = 0
    fields: tuple[str, ...] = ()
    output: Output = Output.TEXT
    digest: Form | None = None
    resume: Resume | None = None
    show_resume_key: bool = False
    paging: Paging | None = None
    with_originals: bool = False
