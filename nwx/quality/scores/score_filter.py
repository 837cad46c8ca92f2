"""Which playback scores are asked for, read from words."""

import re
from dataclasses import replace

from nwx.engine.quality.quality_index import QualityFilter
from nwx.errors import ErrorText, UsageError
from nwx.values.urls import host_parts

_MONTH = re.compile(r"([0-9]{4})-?(0[1-9]|1[0-2])")


def of_site(site: str, host: str = "") -> QualityFilter:
    """Return the filter for the pages of a registered domain with all below it, or of a host.

    `host` leaves those of this host alone. Names may have capitals, other
    letters than ASCII's, and a dot at the end.
    """
    parts = host_parts(site)
    is_domain = bool(parts.host) and parts.domain == parts.host
    only = host or ("" if is_domain else site)
    named = host_parts(only).host or only  # what is no host is found nowhere
    return QualityFilter(host=named, domain=parts.domain if is_domain else "")


def asked_scores(
    site: str = "", host: str = "", month: str = "", kind: str = "", collection: str = ""
) -> QualityFilter:
    """Return the filter that options ask for; raises UsageError for an invalid month."""
    return replace(of_site(site, host), month=read_month(month), kind=kind, collection=collection)


def read_month(text: str) -> str:
    """Return a month, YYYY-MM, as scores are filtered by it; "" is every month."""
    found = _MONTH.fullmatch(text)
    if text and not found:
        raise UsageError(
            ErrorText("%(text)s is no month; write YYYY-MM, such as 2010-07", text=repr(text[:20]))
        )
    return f"{found[1]}{found[2]}" if found else ""
