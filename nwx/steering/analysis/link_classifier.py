"""Roles of links, and blacklisting by rules, spam lists and detection of crawler traps."""

import re
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from nwx.errors import SourceError
from nwx.steering.analysis.lemmas import WORD_LISTS
from nwx.steering.analysis.page_view import PageLink
from nwx.steering.analysis.site_types import SiteType
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    LinkRules,
    covering_hosts,
    normal_host,
)

_LONGEST = 2_000  # characters examined


class LinkAddress(NamedTuple):
    """Parts of a URL, in lower case: host with port, path without its first slash, query."""

    host: str
    path: str
    query: str


def link_address(url: str) -> LinkAddress:
    """Return the parts of an absolute URL; a very long one is cut off."""
    rest = url[:_LONGEST].partition("://")[2].lower()
    place, _, query = rest.partition("?")
    host, _, path = place.partition("/")
    return LinkAddress(host.rpartition("@")[2], path, query)


class LinkRole(StrEnum):
    """The purpose of a link; if several roles fit, the first in this list counts."""

    ADVERTISEMENT = "advertisement"
    LOGIN = "login"
    ACTION = "action"
    PAGINATION = "pagination"
    COMMENT = "comment"
    CALENDAR = "calendar"
    NAVIGATION = "navigation"
    CONTENT = "content"


_MOST_KNOWN = 20_000  # surroundings whose role is cached
_LONGEST_NUMBER = 3  # digits; numbers of four are years
_PARTS = re.compile(r"[-_]+")
_ORDER = {role: place for place, role in enumerate(LinkRole)}
_OF_NAME = {name: LinkRole(role) for role, names in WORD_LISTS.link_roles.items() for name in names}

_END = r"(?:\.[a-z]+)?(?:[/?&;]|$)"
"""The end of a whole segment or value, with or without an extension."""

_ANY_SITE = {
    LinkRole.LOGIN: rf"(?:(?:wp-)?log-?(?:in|out|on|off)|sign-?(?:in|up|out)|register|registration"
    rf"|lost-?password|create-?account|(?:user|account)/(?:register|password)){_END}",
    LinkRole.ACTION: r"(?:(?:shopping-?)?cart|basket|checkout|warenkorb|panier|carrito|print"
    r"|print(?:able|friendly)|share)(?:\.[a-z]+)?/?(?:[?&;]|$)|(?:add-to-cart|share)=\w"
    r"|(?:print|printable)=(?:1|y|true)|sharer?(?:\.php|/sharer)|share-?article|intent/(?:tweet|post)",
    LinkRole.COMMENT: rf"comments?{_END}|comment-page-\d",
    LinkRole.CALENDAR: rf"(?:calendar|kalender|calendrier|calendario){_END}"
    r"|(?:month|monat|mois|tribe-bar-date)=\d",
    LinkRole.PAGINATION: rf"page[/-]?\d+{_END}"
    r"|(?:page|paged|pg|start|offset|skip|seite|pagina|startat|pagenum|pageno)=\d",
    LinkRole.ADVERTISEMENT: rf"(?:adclick|ads?|adserver|banners?){_END}",
}
"""Parts of URLs that follow one of `/ = ? & ; :`, by role, on any site."""

_SITES: dict[SiteType, dict[LinkRole, str]] = {
    SiteType.WORDPRESS: {
        LinkRole.LOGIN: r"wp-(?:login|signup|admin)\b",
        LinkRole.COMMENT: r"replytocom=|comments/feed",
        LinkRole.NAVIGATION: r"(?:tag|category|author|archives?|feed)/|(?:cat|m|tag)=",
    },
    SiteType.DRUPAL: {
        LinkRole.LOGIN: r"user(?:/(?:login|register|password))?(?:[?&]|$)",
        LinkRole.COMMENT: r"comment/reply/",
        LinkRole.NAVIGATION: r"taxonomy/|(?:print|rss)",
    },
    SiteType.JOOMLA: {
        LinkRole.LOGIN: r"com_(?:users?|login|registration)\b",
        LinkRole.PAGINATION: r"limitstart=",
        LinkRole.NAVIGATION: r"com_(?:mailto|search|banners)\b|tmpl=component|format=feed",
    },
    SiteType.MEDIAWIKI: {
        LinkRole.LOGIN: r"(?:userlogin|createaccount|userlogout)\b",
        LinkRole.PAGINATION: r"(?:from|pagefrom|pageuntil|offset)=",
        LinkRole.NAVIGATION: r"(?:action|oldid|diff|veaction|printable|redlink|curid)="
        r"|(?:special|help|talk|user|[a-z]+_talk|template|mediawiki|portal|project|wikipedia"
        r"|spezial|hilfe|diskussion|benutzer|sp%c3%a9cial|aide|discussion)(?::|%3a)",
    },
    SiteType.PHPBB: {
        LinkRole.LOGIN: r"(?:ucp|login)\.php|mode=(?:login|register)",
        LinkRole.COMMENT: r"posting\.php|p=\d",
        LinkRole.NAVIGATION: r"(?:memberlist|search|faq|viewonline|profile|groupcp|privmsg|index)"
        r"\.php|view=(?:next|previous|print|newest|unread)",
    },
    SiteType.VBULLETIN: {
        LinkRole.LOGIN: r"(?:login|register)\.php|do=lostpw",
        LinkRole.CALENDAR: r"calendar\.php",
        LinkRole.COMMENT: r"(?:newreply|newthread|showpost)\.php|p=\d",
        LinkRole.NAVIGATION: r"(?:member|memberlist|search|faq|online|private|usercp|sendmessage"
        r"|printthread|subscription|misc|profile|report|forumdisplay|index)\.php",
    },
    SiteType.DISCOURSE: {
        LinkRole.COMMENT: r"t/[^/]+/\d+/\d+",
        LinkRole.NAVIGATION: r"(?:u|c|tags?|latest|top|categories|faq|about|tos|privacy|badges|g)"
        r"(?:/|$)",
    },
    SiteType.BLOGGER: {
        LinkRole.LOGIN: r"(?:post-edit|comment-iframe|rearrange|blogger)\.(?:g|do)\b",
        LinkRole.COMMENT: r"showcomment=|comment\.g|feeds/\d+/comments",
        LinkRole.PAGINATION: r"updated-(?:max|min)=",
        LinkRole.NAVIGATION: r"search/label/|[\d_]+archive\.html|feeds/|\d{4}/(?:\d\d/)?(?:$|\?)",
    },
}
"""Additional parts of URLs, by type of site and role."""


class _UrlRoles:
    """Finds roles by expressions on paths and queries, tested in one search first."""

    def __init__(self, urls: dict[LinkRole, str]) -> None:
        # The leading class of characters lets `re` skip places where no match can begin.
        self._any = re.compile(f"[/=?&;:](?:{'|'.join(urls.values())})")
        ordered = sorted(urls, key=_ORDER.__getitem__)
        self._roles = [(role, re.compile(f"[/=?&;:](?:{urls[role]})")) for role in ordered]

    def role_of(self, place: str) -> LinkRole | None:
        """Return the first role that matches a path with its query, None if none does."""
        if self._any.search(place) is None:
            return None
        return next(role for role, expression in self._roles if expression.search(place))


_ON_ANY_SITE = _UrlRoles(_ANY_SITE)
_ON_SITES = {kind: _UrlRoles(urls) for kind, urls in _SITES.items()}


class LinkRoles:
    """Finds the roles of links; shared by pages, as it caches roles by surroundings."""

    def __init__(self) -> None:
        self._known: dict[str, LinkRole | None] = {}

    def role_of(
        self, link: PageLink, address: LinkAddress, page: LinkAddress, site: SiteType
    ) -> LinkRole:
        """Return the role of a link on a page of a type of site.

        Its URL decides, then the innermost enclosing element with a known name. Pagination only
        leads to the same host.
        """
        is_own = address.host == page.host
        place = f"/{address.path}?{address.query}" if address.query else f"/{address.path}"
        if is_own and site in _ON_SITES and (found := _ON_SITES[site].role_of(place)):
            return found
        if not is_own and _is_advertiser(address.host):
            return LinkRole.ADVERTISEMENT
        if (found := _ON_ANY_SITE.role_of(place)) and (is_own or found is not LinkRole.PAGINATION):
            return found
        if is_own and place == "/":
            return LinkRole.NAVIGATION
        found = self._by_surroundings(link.classes)
        return found or (_by_anchor(link.text, address, page) if is_own else LinkRole.CONTENT)

    def _by_surroundings(self, classes: str) -> LinkRole | None:
        if classes not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            roles = map(_role_of_name, reversed(classes.split()))
            self._known[classes] = next(filter(None, roles), None)
        return self._known[classes]


def _role_of_name(name: str) -> LinkRole | None:
    """Return the role of a name, or else of one of its parts."""
    found = _OF_NAME.get(name)
    if found is not None or not ("-" in name or "_" in name):
        return found
    parts = set(_PARTS.split(name)) - WORD_LISTS.not_in_compounds
    roles = [_OF_NAME[part] for part in parts if part in _OF_NAME]
    return min(roles, key=_ORDER.__getitem__, default=None)


def _is_advertiser(host: str) -> bool:
    while host:
        if host in WORD_LISTS.advertisers:
            return True
        host = host.partition(".")[2]
    return False


def _by_anchor(text: str, address: LinkAddress, page: LinkAddress) -> LinkRole:
    """Return pagination for a number linked to the page's first path segment, else content."""
    if not (text.isdecimal() and len(text) <= _LONGEST_NUMBER):
        return LinkRole.CONTENT
    folder = page.path.partition("/")[0]
    is_alike = address.path.partition("/")[0] == folder
    return LinkRole.PAGINATION if is_alike else LinkRole.CONTENT


_LONGEST_URL = 2_000
_MOST_SEGMENTS = 25
_MOST_PARAMETERS = 20
_MOST_REPEATED = 2  # occurrences of a segment in a path; three are a loop
_MOST_YEARS = 2  # between a page and the target of its calendar

_YEAR = re.compile(r"(?<![0-9])([12][0-9]{3})(?:[0-9]{2}){0,2}(?![0-9])")
# Session ids by parameter name, with values that are clearly generated.
_SESSION = re.compile(
    r"(?P<path>;jsessionid=[^/?#;]*)"
    r"|(?P<query>(?<=[?&;])(?:phpsessid|jsessionid|aspsessionid[a-z]{0,12}|sessionid|session_id"
    r"|sessid|cfid|cftoken|zenid|oscsid)=(?=[0-9a-z,-]*[0-9])[0-9a-z,-]{8,}(?:&(?:amp;)?|;|$))"
    r"|(?P<short>(?<=[?&;])(?:sid|s)=(?=[0-9a-f]*[0-9])[0-9a-f]{16,}(?:&(?:amp;)?|;|$))"
    r"|(?P<folder>/\(s\([0-9a-z]{24}\)\))",
    re.IGNORECASE,
)


def trap_of(url: str, address: LinkAddress, role: LinkRole, timestamp: str) -> str:
    """Return the kind of crawler trap that a URL is, as text, "" if none.

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
    """Return a URL without its session ids, "" if it has none."""
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
"""Hosts read of a list; the rest is ignored."""


class LinkVerdict(NamedTuple):
    """The decision on a link before it is scored, with its reason as text.

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
    """Decides on links by the rules of a specification, listed spam hosts and trap detection."""

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
        if self._spam_hosts and (host := spam_host(address.host, self._spam_hosts)):
            return LinkVerdict(blacklisted=True, reason=f"spam host {host}")
        if trap := trap_of(url, address, role, timestamp):
            return LinkVerdict(blacklisted=True, reason=f"trap: {trap}")
        if other := without_session(url):
            return LinkVerdict(
                blacklisted=True, reason="trap: session id", address=other, preferred=preferred
            )
        return LinkVerdict(preferred=preferred, reason=reason) if preferred else _NOTHING


_USUAL_PORTS = ("80", "443")
_NO_HOST = re.compile(r"[^\w.*-]")


def spam_host(host: str, listed: frozenset[str]) -> str:
    """Return the entry of a spam list that covers a host with optional port, "" if none."""
    name, _, port = host.partition(":")
    own = (f"{name}:{one}" for one in ((port,) if port else _USUAL_PORTS))
    return next((one for one in (*own, *covering_hosts(name)) if one in listed), "")


def read_spam_hosts(path: Path) -> frozenset[str]:
    """Return the hosts of a list: one a line, hosts file format allowed; `#` is a comment.

    A host covers its subdomains and all ports, a host with a port only itself; of a URL the host
    is taken. Raises SourceError if the file cannot be read or has an invalid line.
    """
    hosts: set[str] = set()
    with (
        SourceError.instead_of(OSError, f"{path} cannot be read"),
        path.open(encoding="utf-8", errors="replace") as lines,
    ):
        for number, line in enumerate(lines, 1):
            words = line.partition("#")[0].split()
            word = words[-1][:_LONGEST] if words else ""
            name, _, port = (link_address(word).host if "://" in word else word).partition(":")
            if _NO_HOST.search(name) or (port and not port.isdecimal()):
                raise SourceError(f"{path}, line {number}: {word[:80]!r} is not a host")
            host = normal_host(name)
            if "." in host or port.isdecimal():
                hosts.add(f"{host}:{port}" if port.isdecimal() else host)
            if len(hosts) >= MOST_SPAM_HOSTS:
                break
    return frozenset(hosts)
