"""Crawler traps."""

from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.steering.analysis.link_classifier import (
    LinkClassifier,
    LinkRole,
    LinkRoles,
    LinkVerdict,
    link_address,
    read_spam_hosts,
    trap_of,
    without_session,
)
from nwx.steering.analysis.page_view import PageLink
from nwx.steering.analysis.site_types import SiteType
from nwx.steering.specifications.specification import CrawlSpecification, LinkRule, RuleAction


def trap(path: str, role: LinkRole = LinkRole.CONTENT) -> str:
    url = f"http://site.example{path}"
    return trap_of(url, link_address(url), role, "20200101000000")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/catalogue/catalogue/catalogue/offers", "repeated path segment catalogue"),
        ("/a/b/a/b/a/b", "repeated path segment"),
        ("/a/b/c/a", ""),
        ("/2024/05/05/x", ""),
        (f"/{'x/' * 30}", "more than 25 path segments"),
        (f"/{'x' * 3_000}", "more than 2000 characters"),
        ("/?" + "&".join(f"p{n}=1" for n in range(30)), "more than 20 parameters"),
    ],
)
def test_paths_that_go_on_are_traps(path: str, words: str) -> None:
    assert trap(path).startswith(words)
    assert bool(trap(path)) == bool(words)


def test_calendars_lead_to_years_near_their_page() -> None:
    assert trap("/calendar/2021/05", LinkRole.CALENDAR) == ""
    assert trap("/calendar/2031/05", LinkRole.CALENDAR) == "calendar, 11 years from its page"
    assert trap("/calendar?d=19990501", LinkRole.CALENDAR) == "calendar, 21 years from its page"
    assert trap("/history/1999", LinkRole.CONTENT) == ""


@pytest.mark.parametrize(
    ("url", "without"),
    [
        ("http://a.example/x;jsessionid=1A2B3C4D?y=1", "http://a.example/x?y=1"),
        ("http://a.example/t.php?t=1&sid=0123456789abcdef", "http://a.example/t.php?t=1"),
        ("http://a.example/t.php?sid=0123456789abcdef&t=1", "http://a.example/t.php?t=1"),
        ("http://a.example/?PHPSESSID=a1b2c3d4e5", "http://a.example/"),
        ("http://a.example/(S(abcdefghij0123456789abcd))/x", "http://a.example/x"),
        ("http://a.example/?s=hochwasser", ""),
        ("http://a.example/?s=flood2002", ""),
        ("http://a.example/?sid=5", ""),
        ("http://a.example/x", ""),
    ],
)
def test_session_ids_are_taken_off(url: str, without: str) -> None:
    assert without_session(url) == without


def verdict(url: str, *rules: LinkRule, spam: frozenset[str] = frozenset()) -> LinkVerdict:
    classifier = LinkClassifier(CrawlSpecification("c", rules=rules), spam)
    return classifier.verdict(url, link_address(url), LinkRole.CONTENT, "20200101000000")


def test_a_link_of_no_rule_is_left_as_it_is() -> None:
    assert verdict("http://a.example/x") == LinkVerdict()


def test_rules_decide_first() -> None:
    rules = (
        LinkRule(RuleAction.BLACKLIST, hosts=("bad.example",)),
        LinkRule(RuleAction.PREFER, expressions=("/news/",)),
        LinkRule(RuleAction.ONLY, hosts=("example",)),
    )
    assert verdict("http://bad.example/news/", *rules).blacklisted
    assert verdict("http://a.example/news/", *rules).preferred
    assert verdict("http://a.test/news/", *rules).outside


def test_spam_hosts_cover_their_subdomains(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text("# spam\n0.0.0.0 casino.example\n*.Win.example\nlocalhost\n\n")
    spam = read_spam_hosts(path)
    assert spam == {"casino.example", "win.example"}
    found = verdict("http://www.casino.example:8080/x", spam=spam)
    assert found == LinkVerdict(blacklisted=True, reason="spam host casino.example")
    assert verdict("http://mycasino.example/", spam=spam) == LinkVerdict()


def test_a_spam_host_with_a_port_is_that_port_alone(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text("127.0.0.1:8612\nlocalhost:81\n")
    spam = read_spam_hosts(path)
    reason = verdict("http://127.0.0.1:8612/x", spam=spam).reason
    assert reason == "spam host 127.0.0.1:8612"
    assert verdict("http://localhost:81/", spam=spam).blacklisted
    assert verdict("http://127.0.0.1:8613/", spam=spam) == LinkVerdict()


def test_usual_ports_and_urls_are_read_as_hosts(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text("casino.example:80\nhttps://win.example/play?x\nhttp://b.example:81/\n")
    spam = read_spam_hosts(path)
    assert spam == {"casino.example:80", "win.example", "b.example:81"}
    for url in ("http://casino.example/", "http://casino.example:80/", "http://www.win.example/"):
        assert verdict(url, spam=spam).blacklisted
    assert verdict("http://casino.example:81/", spam=spam) == LinkVerdict()


@pytest.mark.parametrize("line", ["||casino.example^", "a.example:http", "a.example,b.example"])
def test_a_line_that_is_no_spam_host_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "hosts.txt").write_text(f"win.example\n{line}\n")
    with pytest.raises(SourceError, match="line 2"):
        read_spam_hosts(tmp_path / "hosts.txt")


def test_traps_are_blacklisted_and_session_ids_taken_off() -> None:
    assert verdict("http://a.example/x/x/x/").reason == "trap: repeated path segment x"
    found = verdict("http://a.example/x?sid=0123456789abcdef")
    assert (found.blacklisted, found.address) == (True, "http://a.example/x")


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
    return LinkRoles().role_of(link, link_address(url), PAGE, site)


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
        ("/shop/cart/", "action"),
        ("/news/floods?print=1", "action"),
        ("https://www.facebook.com/sharer/sharer.php?u=x", "action"),
        ("/news/print/floods.html", "content"),
        ("/share-prices", "content"),
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
