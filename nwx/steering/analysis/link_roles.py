"""The role of a link on its page: content, navigation, pagination, comment and others."""

import re
from enum import StrEnum
from urllib.parse import unquote

from nwx.steering.analysis.page_view import PageLink


class LinkRole(StrEnum):
    """What a link is for."""

    CONTENT = "content"
    NAVIGATION = "navigation"
    PAGINATION = "pagination"
    COMMENT = "comment"
    ADVERTISEMENT = "advertisement"
    LOGIN = "login"
    CALENDAR = "calendar"


ROLE_WORTH = {
    LinkRole.CONTENT: 1.0,
    LinkRole.PAGINATION: 0.6,
    LinkRole.NAVIGATION: 0.4,
    LinkRole.COMMENT: 0.2,
    LinkRole.CALENDAR: 0.1,
    LinkRole.ADVERTISEMENT: 0.0,
    LinkRole.LOGIN: 0.0,
}
"""How much a role counts for the relevance of a link."""

_LETTERS = re.compile(r"[a-z0-9]+")
_PLACES = (
    (LinkRole.ADVERTISEMENT, "ad ads advert adverts advertisement banner sponsor sponsored promo"),
    (LinkRole.PAGINATION, "pagination pager paging pagenav pages paginate rel:next rel:prev"),
    (LinkRole.COMMENT, "comment comments commentlist disqus respond"),
    (LinkRole.CALENDAR, "calendar datepicker"),
    (
        LinkRole.NAVIGATION,
        "nav navbar navigation menu header footer sidebar breadcrumb breadcrumbs"
        " aside topbar toolbar widget tabs",
    ),
)
_WORDS = (
    (LinkRole.LOGIN, "login logout signin signup signout register logon lostpassword ucp"),
    (LinkRole.CALENDAR, "calendar"),
)
_NAMES = {name: role for role, names in _PLACES for name in names.split()}
_URL_WORDS = {name: role for role, names in _WORDS for name in names.split()}
_PAGE = re.compile(r"[?&;](?:page|paged|start|offset|p)=\d|/page/?\d+(?:[/.?]|$)", re.I)


def link_role(link: PageLink) -> LinkRole:
    """Return the role of a link, by its URL and by what is around it."""
    path = unquote(link.url.partition("://")[2].partition("/")[2]).lower()
    words = _LETTERS.findall(path)
    for word in words:
        if word in _URL_WORDS:
            return _URL_WORDS[word]
    if _PAGE.search(link.url):
        return LinkRole.PAGINATION
    found = {_NAMES[name] for name in re.split(r"[\s_-]+", link.classes) if name in _NAMES}
    return next((role for role, _ in _PLACES if role in found), LinkRole.CONTENT)
