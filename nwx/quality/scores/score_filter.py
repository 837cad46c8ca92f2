"""Which playback scores are asked for, read from words."""

import re

from nwx.engine.quality.quality_index import QualityFilter
from nwx.errors import UsageError
from nwx.values.urls import host_parts

_MONTH = re.compile(r"([0-9]{4})-?(0[1-9]|1[0-2])")


def of_site(site: str) -> QualityFilter:
    """Return the filter for the pages of a registered domain with all below it, or of a host."""
    site = site.lower()
    if site and host_parts(site).domain == site:
        return QualityFilter(domain=site)
    return QualityFilter(host=site)


def read_month(text: str) -> str:
    """Return a month, YYYY-MM, as scores are filtered by it; "" is every month."""
    found = _MONTH.fullmatch(text)
    if text and not found:
        raise UsageError(f"{text[:20]!r} is no month; write YYYY-MM, such as 2010-07")
    return f"{found[1]}{found[2]}" if found else ""
