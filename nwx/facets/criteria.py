"""The criteria that captures are counted by, and their categories."""

import re
from dataclasses import dataclass
from enum import StrEnum

UNKNOWN = "unknown"
"""The category of what is missing or makes no sense; every criterion but status has it."""


class Criterion(StrEnum):
    """What a capture is counted by; the values are the names people use."""

    STATUS = "status"
    MONTH = "month"
    SITE = "site"
    TYPE = "type"
    TLD = "tld"
    SIZE = "size"
    DEPTH = "depth"
    COLLECTION = "collection"


CUBE = (
    Criterion.MONTH,
    Criterion.SITE,
    Criterion.TYPE,
    Criterion.TLD,
    Criterion.SIZE,
    Criterion.DEPTH,
)
"""The criteria that combinations are stored for, each alone and with any others: 64 groupings.

All combinations also name a status.
"""

FIELDS = {criterion: criterion.value for criterion in Criterion} | {
    Criterion.TYPE: "content_type_norm"
}
"""The field of each criterion in `mappings/facets.json`."""

STATUSES = ("ok", "redirection", "request_error", "server_error", "ignored")

_K = 1024.0
_SIZES: tuple[tuple[str, float], ...] = (
    ("0", 1),
    ("0-1.2K", 1.2 * _K),
    ("1.2K-15K", 15 * _K),
    ("15K-150K", 150 * _K),
    ("150K-1.4M", 1.4 * _K**2),
    ("1.4M-15M", 15 * _K**2),
    ("15M-120M", 120 * _K**2),
)
SIZES = (*(name for name, _ in _SIZES), "120M+", UNKNOWN)
"""FacetRedux's size categories, the lower end inclusive; then that of unknown sizes."""

SIZE_BOUNDS = tuple(bound for _, bound in _SIZES)
"""The sizes in bytes at which each next category begins."""

MAX_SIZE = 1 << 40
"""Larger sizes are claims, not sizes: their category is unknown, and they add no bytes."""

MAX_DEPTH = 50
DEPTHS = (*map(str, range(MAX_DEPTH)), f"{MAX_DEPTH}+", UNKNOWN)

_MONTH = re.compile(r"[0-9]{4}(?:0[1-9]|1[0-2])")
_CLOSED_HOPS = re.compile(r"([0-9]{1,4})\+")


@dataclass(frozen=True, slots=True)
class Described:
    """A criterion for people; `values` are its categories in order where they are fixed.

    The values of an `ordinal` criterion have an order of their own, and can
    be asked for as spans where `spans`.
    """

    title: str
    description: str
    values: tuple[str, ...] = ()
    ordinal: bool = False
    spans: bool = False


DESCRIPTIONS: dict[Criterion, Described] = {
    Criterion.STATUS: Described(
        "Status", "the class of the HTTP status; `ignored` is any other or none", STATUSES
    ),
    Criterion.MONTH: Described(
        "Month", "the month of the capture, such as 2013-01", ordinal=True, spans=True
    ),
    Criterion.SITE: Described(
        "Site", "the name that a URL has in the list of sites, else its registrable domain"
    ),
    Criterion.TYPE: Described("Type", "the family of the content type"),
    Criterion.TLD: Described("TLD", "the top-level domain"),
    Criterion.SIZE: Described("Size", "the category of the payload's bytes", SIZES, True, True),
    Criterion.DEPTH: Described(
        "Depth", "the hyperlinks from the start page, as the crawler noted", DEPTHS, True, True
    ),
    Criterion.COLLECTION: Described("Collection", "the collection that the capture belongs to"),
}


def status_category(status: int | None) -> str:
    """Return the category of an HTTP status."""
    if status is None or not 200 <= status < 600:
        return "ignored"
    return STATUSES[status // 100 - 2]


def month_of(timestamp: str) -> str:
    """Return the month of a timestamp: 2013-01."""
    if not timestamp.isascii() or not _MONTH.match(timestamp):
        return UNKNOWN
    return f"{timestamp[:4]}-{timestamp[4:6]}"


def tld_of(public_suffix: str) -> str:
    """Return the top-level domain that a public suffix is in: uk for co.uk."""
    return public_suffix.rpartition(".")[2] or UNKNOWN


def known_size(size: int | None) -> int | None:
    """Return a size in bytes, None where it is unknown or cannot be one."""
    return size if size is not None and 0 <= size <= MAX_SIZE else None


def size_category(size: int | None) -> str:
    """Return the category of a size in bytes, None being unknown."""
    size = known_size(size)
    if size is None:
        return UNKNOWN
    return SIZES[sum(size >= bound for bound in SIZE_BOUNDS)]


def depth_of(hops: str) -> str:
    """Return the number of hyperlinks among the hops that a crawler noted.

    Heritrix writes a letter a hop (L is a hyperlink, E what a page embeds,
    R a redirect), and of a long way only the number of its first hops: `7+LLE`.
    """
    if not hops:
        return UNKNOWN
    closed = _CLOSED_HOPS.match(hops)
    depth = hops.count("L") + (int(closed[1]) if closed else 0)
    return DEPTHS[min(depth, MAX_DEPTH)]
