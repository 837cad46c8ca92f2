"""Links that rules, spam lists or crawler traps forbid."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from nwx.errors import SourceError
from nwx.steering.analysis.link_roles import LinkAddress, LinkRole
from nwx.steering.specifications.link_rules import LinkRules, covering_hosts, normal_host
from nwx.steering.specifications.specification import CrawlSpecification

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
    """Return the kind of crawler trap of a URL as text, "" if it is not a trap.

    `role` is the role of the link, `timestamp` that of its page: calendars link to years far from
    it.
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


MOST_SPAM_HOSTS = 5_000_000
"""Of a list; what follows is not read."""


class LinkVerdict(NamedTuple):
    """The decision on a link before it is scored; `reason` is its reason as text.

    `outside`: the rules with the action `only` do not cover it. `address` is the URL to score
    instead of one with a session id, "" without one.
    """

    blacklisted: bool = False
    outside: bool = False
    preferred: bool = False
    reason: str = ""
    address: str = ""


_NOTHING = LinkVerdict()


class LinkClassifier:
    """The rules of a specification, spam hosts that a user lists, and what traps look like."""

    def __init__(
        self, specification: CrawlSpecification, spam_hosts: frozenset[str] = frozenset()
    ) -> None:
        self._rules = LinkRules(specification.rules) if specification.rules else None
        self._spam_hosts = spam_hosts

    def verdict(
        self, url: str, address: LinkAddress, role: LinkRole, timestamp: str
    ) -> LinkVerdict:
        """Return the decision on a link; `timestamp` is that of its page."""
        preferred, reason = False, ""
        if self._rules is not None:
            by_rules = self._rules.verdict(url)
            preferred, reason = by_rules.preferred, by_rules.rule
            if by_rules.blacklisted:
                return LinkVerdict(blacklisted=True, reason=reason)
            if by_rules.outside:
                return LinkVerdict(outside=True, reason=reason)
        if self._spam_hosts and (host := self._spam_host(address.host)):
            return LinkVerdict(blacklisted=True, reason=f"spam host {host}")
        if trap := trap_of(url, address, role, timestamp):
            return LinkVerdict(blacklisted=True, reason=f"trap: {trap}")
        if other := without_session(url):
            return LinkVerdict(
                blacklisted=True, reason="trap: session id", address=other, preferred=preferred
            )
        return LinkVerdict(preferred=preferred, reason=reason) if preferred else _NOTHING

    def _spam_host(self, host: str) -> str:
        names = covering_hosts(host.partition(":")[0])
        return next((name for name in names if name in self._spam_hosts), "")


def read_spam_hosts(path: Path) -> frozenset[str]:
    """Return the hosts of a list: one a line, hosts file format allowed; `#` is a comment.

    Each host includes its subdomains. Raises SourceError if the file cannot be read.
    """
    hosts: set[str] = set()
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                words = line.partition("#")[0].split()
                host = normal_host(words[-1][:300]) if words else ""
                if "." in host:
                    hosts.add(host)
                if len(hosts) >= MOST_SPAM_HOSTS:
                    break
    except OSError as error:
        raise SourceError(f"the list of spam hosts cannot be read: {error}") from error
    return frozenset(hosts)
