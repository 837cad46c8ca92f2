"""The names that parameters have, and which others are mistakes.

What clients add of their own (`_=1700000000`) is left alone. But a name
that is nearly one of ours, or that of a field, was meant to change the
answer: to leave it out would give a wrong one in silence.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from nwx.cdx.field_names import EXTRA_FIELDS, FIELD_PLACES
from nwx.errors import CdxQueryError

KNOWN = frozenset(
    (
        *("url", "urlkey", "matchType", "method", "requestBody", "collection", "dialect"),
        *("from", "from_ts", "to", "filter", "sort", "reverse", "closest", "limit", "offset"),
        *("collapse", "collapseToFirst", "collapseToLast", "collapseTime"),
        *("fl", "fields", "output", "digest", "gzip", "withOriginals"),
        *("showResumeKey", "resumeKey", "page", "pageSize", "showNumPages"),
    )
)
_FIELDS = frozenset((*FIELD_PLACES, *EXTRA_FIELDS))
_CONTROLS_ACCESS = "accesspoint"
_NEAR = 0.8


def check_names(names: Iterable[str]) -> None:
    """Raise CdxQueryError on a name that is likely to be meant for another."""
    for name in names:
        if name in KNOWN:
            continue
        if name == _CONTROLS_ACCESS:
            raise CdxQueryError(f"{name} is not supported: there are no rules of access here")
        if name in _FIELDS:
            raise CdxQueryError(f"{name} is a field and no parameter; write filter={name}:VALUE")
        near = _nearest(name)
        if near:
            raise CdxQueryError(f"there is no parameter {name[:40]!r}; did you mean {near}?")


def _nearest(name: str) -> str:
    """Return the known name that another is nearly, "" for none."""
    lowered = {known.lower(): known for known in sorted(KNOWN)}
    plain = name[:40].lower().replace("_", "").replace("-", "")
    found = get_close_matches(plain, lowered, 1, _NEAR)
    return lowered[found[0]] if found else ""
