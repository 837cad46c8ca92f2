"""URLs that lead a crawler round and round: repeated path segments, endless calendars."""

from collections import Counter

_MOST_REPEATED = 3
_MOST_SEGMENTS = 25
_LONGEST_URL = 2_000


def trap_of(url: str) -> str:
    """Return what kind of trap a URL is, in words, "" if none."""
    if len(url) > _LONGEST_URL:
        return f"more than {_LONGEST_URL} characters"
    path = url.partition("://")[2].partition("/")[2].partition("?")[0]
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) > _MOST_SEGMENTS:
        return f"more than {_MOST_SEGMENTS} path segments"
    if len(segments) > _MOST_REPEATED:
        segment, count = Counter(segments).most_common(1)[0]
        if count > _MOST_REPEATED:
            return f"repeated path segment {segment[:50]}"
    return ""
