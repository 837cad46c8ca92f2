"""URLs that lead a crawler round without end: repeated segments, endless calendars, session ids."""

import re
from collections import Counter

from nwx.steering.analysis.links.link_address import LinkAddress
from nwx.steering.analysis.links.link_roles import LinkRole

_LONGEST_URL = 2_000
_MOST_SEGMENTS = 25
_MOST_PARAMETERS = 20
_MOST_REPEATED = 2  # times that a segment may be in a path; three are a circle
_MOST_YEARS = 2  # between a page and what its calendar leads to

_YEAR = re.compile(r"(?<![0-9])([12][0-9]{3})(?:[0-9]{2}){0,2}(?![0-9])")
# Names of session ids, each with a value that nobody gives by hand.
_SESSION = re.compile(
    r"(?P<path>;jsessionid=[^/?#;]*)"
    r"|(?P<query>(?<=[?&;])(?:phpsessid|jsessionid|aspsessionid[a-z]{0,12}|sessionid|session_id"
    r"|sessid|cfid|cftoken|zenid|oscsid)=(?=[0-9a-z,-]*[0-9])[0-9a-z,-]{8,}(?:&(?:amp;)?|;|$))"
    r"|(?P<short>(?<=[?&;])(?:sid|s)=(?=[0-9a-f]*[0-9])[0-9a-f]{16,}(?:&(?:amp;)?|;|$))"
    r"|(?P<folder>/\(s\([0-9a-z]{24}\)\))",
    re.IGNORECASE,
)


def trap_of(url: str, address: LinkAddress, role: LinkRole, timestamp: str) -> str:
    """Return what kind of trap a URL is, in words, "" if none.

    `role` is that of the link, `timestamp` that of its page: calendars lead
    to years far from it.
    """
    if len(url) > _LONGEST_URL:
        return f"more than {_LONGEST_URL} characters"
    if address.query.count("&") >= _MOST_PARAMETERS:
        return f"more than {_MOST_PARAMETERS} parameters"
    return _repeated(address.path) or (
        _far_year(address, timestamp) if role is LinkRole.CALENDAR else ""
    )


def without_session(url: str) -> str:
    """Return a URL without the session ids that it holds, "" where it holds none."""
    may_have = "=" in url or "(" in url
    if not may_have or len(url) > _LONGEST_URL or not _SESSION.search(url):
        return ""
    return _SESSION.sub("", url).rstrip("?&;")


def _repeated(path: str) -> str:
    count = path.count("/")
    if count < _MOST_REPEATED:
        return ""
    if count > _MOST_SEGMENTS:
        return f"more than {_MOST_SEGMENTS} path segments"
    segments = [segment for segment in path.split("/") if segment]
    if len(set(segments)) == len(segments):
        return ""
    segment, times = Counter(segments).most_common(1)[0]
    return f"repeated path segment {segment[:50]}" if times > _MOST_REPEATED else ""


def _far_year(address: LinkAddress, timestamp: str) -> str:
    year = int(timestamp[:4]) if timestamp[:4].isdigit() else 0
    found = _YEAR.search(f"{address.path}?{address.query}")
    if not (year and found) or abs(int(found[1]) - year) <= _MOST_YEARS:
        return ""
    return f"calendar, {abs(int(found[1]) - year)} years from its page"
