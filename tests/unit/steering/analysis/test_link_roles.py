"""URLs cut into parts."""

import pytest

from nwx.steering.analysis.link_roles import LinkRoles, link_address
from nwx.steering.analysis.page_view import PageLink
from nwx.steering.analysis.site_types import SiteType


def test_an_address_is_in_lower_case() -> None:
    assert link_address("HTTP://user@Site.Example:80/A/b?C=d?e") == (
        "site.example:80",
        "a/b",
        "c=d?e",
    )
    assert link_address("http://site.example?a/b") == ("site.example", "", "a/b")
    assert link_address("http://site.example") == ("site.example", "", "")


HOST = "site.example"
PAGE = link_address(f"http://{HOST}/list/first.html")


def role(url: str, site: SiteType = SiteType.UNKNOWN, classes: str = "", text: str = "x") -> str:
    url = url if "://" in url else f"http://{HOST}{url}"
    link = PageLink(url, text, "a", classes=classes)
    return LinkRoles().of(link, link_address(url), PAGE, site)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("/news/floods-of-2002.html", "content"),
        ("/login?next=/a", "login"),
        ("/user/register", "login"),
        ("/news/how-to-register-to-vote", "content"),
        ("/list?page=3", "pagination"),
        ("/news/page/4/", "pagination"),
        ("/story/comments/", "comment"),
        ("/calendar/2024/05", "calendar"),
        ("https://ad.doubleclick.net/x", "advertisement"),
        ("/", "navigation"),
        ("http://other.example/", "content"),
    ],
)
def test_urls_tell_roles_on_any_site(url: str, expected: str) -> None:
    assert role(url) == expected


@pytest.mark.parametrize(
    ("site", "url", "expected"),
    [
        (SiteType.WORDPRESS, "/?p=12", "content"),
        (SiteType.WORDPRESS, "/a/?replytocom=5", "comment"),
        (SiteType.WORDPRESS, "/tag/floods/", "navigation"),
        (SiteType.MEDIAWIKI, "/index.php?title=A&action=edit", "navigation"),
        (SiteType.MEDIAWIKI, "/wiki/Special:UserLogin", "login"),
        (SiteType.MEDIAWIKI, "/wiki/Flood", "content"),
        (SiteType.PHPBB, "/ucp.php?mode=login", "login"),
        (SiteType.PHPBB, "/viewtopic.php?f=1&t=2", "content"),
        (SiteType.PHPBB, "/viewtopic.php?f=1&t=2&start=15", "pagination"),
        (SiteType.PHPBB, "/memberlist.php", "navigation"),
        (SiteType.VBULLETIN, "/calendar.php?do=getinfo", "calendar"),
        (SiteType.VBULLETIN, "/showthread.php?t=4", "content"),
        (SiteType.DISCOURSE, "/t/floods/12", "content"),
        (SiteType.DISCOURSE, "/t/floods/12/4", "comment"),
        (SiteType.DISCOURSE, "/u/somebody", "navigation"),
        (SiteType.BLOGGER, "/2012/05/floods.html", "content"),
        (SiteType.BLOGGER, "/search?updated-max=2012-05", "pagination"),
        (SiteType.BLOGGER, "/2012/05/floods.html?showcomment=13", "comment"),
        (SiteType.DRUPAL, "/user", "login"),
        (SiteType.JOOMLA, "/index.php?option=com_users", "login"),
    ],
)
def test_site_types_tell_more(site: SiteType, url: str, expected: str) -> None:
    assert role(url, site) == expected


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ("nav main-menu ul li a", "navigation"),
        ("sidebar widget h3 a", "content"),
        ("article post category-news header entry-header h2 entry-title a", "content"),
        ("main div pagination ul li a", "pagination"),
        ("ol commentlist li comment a rel:nofollow", "comment"),
        ("aside ads a", "advertisement"),
        ("table wp-calendar td a", "calendar"),
        ("footer p a", "navigation"),
        ("main p a", "content"),
        ("p a rel:next", "pagination"),
        ("main role:banner a logo", "navigation"),
        ("form adv_search a", "content"),
    ],
)
def test_the_innermost_name_that_tells_a_role_counts(classes: str, expected: str) -> None:
    assert role("/x", classes=classes) == expected


@pytest.mark.parametrize(
    ("url", "text", "expected"),
    [
        ("/list/second.html", "2", "pagination"),
        ("/list/1997.html", "1997", "content"),
        ("/repository/stars", "14", "content"),
        ("http://blog.example/list/5", "5", "content"),
        ("http://cache.example/x?page=2", "Cached", "content"),
    ],
)
def test_numbers_lead_to_other_pages_of_a_list(url: str, text: str, expected: str) -> None:
    assert role(url, text=text) == expected
