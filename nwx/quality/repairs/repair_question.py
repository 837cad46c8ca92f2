"""Which repairs are asked for."""

from dataclasses import dataclass, field

from nwx.links.missing_urls import PageFilter
from nwx.values.links import EMBEDDED


@dataclass(frozen=True, slots=True)
class RepairQuestion:
    """Which pages are to be mended, and by which resources.

    `pages` are those that count, as in `nwx missing`. `kinds` are those of
    resources (`nwx.values.links`), and `host` the one that they are on,
    with those below it; "" is any.
    """

    pages: PageFilter = field(default_factory=PageFilter)
    kinds: frozenset[str] = EMBEDDED
    host: str = ""
