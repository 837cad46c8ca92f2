"""The role of a link on its page: content, navigation, pagination, comment and others."""

import re
from enum import StrEnum

from nwx.steering.analysis.links.link_address import LinkAddress
from nwx.steering.analysis.links.role_names import ADVERTISERS, NOT_IN_COMPOUNDS, ROLE_NAMES
from nwx.steering.analysis.page_view import PageLink
from nwx.steering.analysis.site_types import SiteType


class LinkRole(StrEnum):
    """What a link is for; where several roles fit, the first of these counts."""

    ADVERTISEMENT = "advertisement"
    LOGIN = "login"
    PAGINATION = "pagination"
    COMMENT = "comment"
    CALENDAR = "calendar"
    NAVIGATION = "navigation"
    CONTENT = "content"


_MOST_KNOWN = 20_000  # surroundings whose role is kept
_PARTS = re.compile(r"[-_]+")
_ORDER = {role: place for place, role in enumerate(LinkRole)}
_OF_NAME = {name: LinkRole(role) for role, names in ROLE_NAMES.items() for name in names.split()}

_URLS = {
    LinkRole.LOGIN: r"(?:^|[/=])(?:(?:wp-)?log-?(?:in|out|on|off)|sign-?(?:in|up|out)"
    r"|register|registration|lost-?password|create-?account)(?:\.[a-z]+)?(?:[/?&]|$)"
    r"|(?:^|/)(?:user|account)/(?:register|password)",
    LinkRole.COMMENT: r"(?:^|/)comments?(?:/|\.[a-z]+|\?|$)|/comment-page-\d",
    LinkRole.CALENDAR: r"(?:^|/)(?:calendar|kalender|calendrier|calendario)(?:\.[a-z]+|[/?]|$)"
    r"|[?&](?:month|monat|mois|tribe-bar-date)=\d",
    LinkRole.PAGINATION: r"(?:^|/)page[/-]?\d+(?:\.[a-z]+|[/?]|$)"
    r"|[?&;](?:page|paged|pg|start|offset|skip|seite|pagina|startat|pagenum|pageno)=\d",
    LinkRole.ADVERTISEMENT: r"(?:^|/)(?:adclick|ads?|adserver|banners?)(?:\.[a-z]+|[/?]|$)",
}
"""Paths and queries by role, on any site."""

_SITE_URLS: dict[SiteType, dict[LinkRole, str]] = {
    SiteType.WORDPRESS: {
        LinkRole.LOGIN: r"wp-(?:login|signup|admin)\b",
        LinkRole.COMMENT: r"replytocom=|comments/feed",
        LinkRole.NAVIGATION: r"(?:^|/)(?:tag|category|author|archives?|feed)/|[?&](?:cat|m|tag)=",
    },
    SiteType.DRUPAL: {
        LinkRole.LOGIN: r"(?:^|[/=])user(?:/(?:login|register|password))?(?:[?&]|$)",
        LinkRole.COMMENT: r"comment/reply/",
        LinkRole.NAVIGATION: r"(?:^|/)taxonomy/|(?:^|/)(?:print|rss)",
    },
    SiteType.JOOMLA: {
        LinkRole.LOGIN: r"option=com_(?:users?|login|registration)",
        LinkRole.PAGINATION: r"limitstart=",
        LinkRole.NAVIGATION: r"option=com_(?:mailto|search|banners)|tmpl=component|format=feed",
    },
    SiteType.MEDIAWIKI: {
        LinkRole.LOGIN: r"special:(?:userlogin|createaccount|userlogout)",
        LinkRole.PAGINATION: r"[?&](?:from|pagefrom|pageuntil|offset)=",
        LinkRole.NAVIGATION: r"[?&](?:action|oldid|diff|veaction|printable|redlink|curid)="
        r"|(?:^|[/=:])(?:special|help|talk|user|user_talk|[a-z]+_talk|template|mediawiki|portal"
        r"|spezial|hilfe|diskussion|benutzer|sp%c3%a9cial|aide|wikipedia|project)(?::|%3a)",
    },
    SiteType.PHPBB: {
        LinkRole.LOGIN: r"ucp\.php|login\.php|mode=(?:login|register)",
        LinkRole.COMMENT: r"posting\.php|[?&]p=\d",
        LinkRole.NAVIGATION: r"(?:memberlist|search|faq|viewonline|profile|groupcp|privmsg|index)"
        r"\.php|[?&]view=(?:next|previous|print|newest|unread)",
    },
    SiteType.VBULLETIN: {
        LinkRole.LOGIN: r"login\.php|register\.php|do=lostpw",
        LinkRole.CALENDAR: r"calendar\.php",
        LinkRole.COMMENT: r"newreply\.php|newthread\.php|showpost\.php|[?&]p=\d|#post",
        LinkRole.NAVIGATION: r"(?:member|memberlist|search|faq|online|private|usercp|sendmessage"
        r"|printthread|subscription|misc|profile|report|forumdisplay|index)\.php",
    },
    SiteType.DISCOURSE: {
        LinkRole.COMMENT: r"^t/[^/]+/\d+/\d+",
        LinkRole.NAVIGATION: r"^(?:u|c|tags?|latest|top|categories|faq|about|tos|privacy|badges|g)"
        r"(?:/|$)",
    },
    SiteType.BLOGGER: {
        LinkRole.LOGIN: r"(?:^|/)(?:post-edit|comment-iframe|rearrange)\.(?:g|do)|blogger\.g",
        LinkRole.COMMENT: r"showcomment=|comment\.g|feeds/\d+/comments",
        LinkRole.PAGINATION: r"[?&]updated-(?:max|min)=",
        LinkRole.NAVIGATION: r"^search/label/|_archive\.html|^feeds/|^\d{4}/(?:\d\d/)?(?:$|\?)",
    },
    SiteType.NEWS: {},
    SiteType.UNKNOWN: {},
}
"""Paths and queries by role, on sites of a type."""


class _UrlRoles:
    """The roles that expressions find in paths and queries, all searched for at once."""

    def __init__(self, urls: dict[LinkRole, str]) -> None:
        self._any = re.compile("|".join(f"(?:{text})" for text in urls.values()) or r"(?!)")
        ordered = sorted(urls, key=_ORDER.__getitem__)
        self._roles = [(role, re.compile(urls[role])) for role in ordered]

    def of(self, place: str) -> LinkRole | None:
        """Return the first role of a path with its query, None where nothing is found."""
        if self._any.search(place) is None:
            return None
        return next(role for role, expression in self._roles if expression.search(place))


_ANYWHERE = _UrlRoles(_URLS)
_ON_SITE = {kind: _UrlRoles(urls) for kind, urls in _SITE_URLS.items()}


class LinkRoles:
    """The roles of links; one for many pages, as surroundings are the same again and again."""

    def __init__(self) -> None:
        self._known: dict[str, LinkRole | None] = {}

    def of(self, link: PageLink, address: LinkAddress, host: str, site: SiteType) -> LinkRole:
        """Return the role of a link on a page of a host and a type of site.

        Its URL decides, then the innermost element around it whose name
        tells something.
        """
        is_own = address.host == host
        place = f"{address.path}?{address.query}" if address.query else address.path
        if is_own and (found := _ON_SITE[site].of(place)):
            return found
        if not is_own and _is_advertiser(address.host):
            return LinkRole.ADVERTISEMENT
        if found := _ANYWHERE.of(place):
            return found
        if is_own and not place:
            return LinkRole.NAVIGATION
        return self._by_surroundings(link.classes) or _by_anchor(link.text)

    def _by_surroundings(self, classes: str) -> LinkRole | None:
        if classes not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            roles = map(_role_of_name, reversed(classes.split()))
            self._known[classes] = next(filter(None, roles), None)
        return self._known[classes]


def _role_of_name(name: str) -> LinkRole | None:
    """Return the role that a name tells, or else one of its parts."""
    found = _OF_NAME.get(name)
    if found is not None or not ("-" in name or "_" in name):
        return found
    parts = set(_PARTS.split(name)) - NOT_IN_COMPOUNDS
    roles = [_OF_NAME[part] for part in parts if part in _OF_NAME]
    return min(roles, key=_ORDER.__getitem__, default=None)


def _is_advertiser(host: str) -> bool:
    while host:
        if host in ADVERTISERS:
            return True
        host = host.partition(".")[2]
    return False


def _by_anchor(text: str) -> LinkRole:
    return LinkRole.PAGINATION if text.isdigit() and len(text) < 4 else LinkRole.CONTENT
