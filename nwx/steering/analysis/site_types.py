"""Detection of the software of a site, from its pages."""

import re
from enum import StrEnum
from functools import cache

import re2

from nwx.steering.analysis.page_view import PageView
from nwx.values.urls import url_parts


class SiteType(StrEnum):
    """Common site software; `news` is markup of news articles by unknown software."""

    WORDPRESS = "wordpress"
    DRUPAL = "drupal"
    JOOMLA = "joomla"
    MEDIAWIKI = "mediawiki"
    PHPBB = "phpbb"
    VBULLETIN = "vbulletin"
    DISCOURSE = "discourse"
    BLOGGER = "blogger"
    NEWS = "news"
    UNKNOWN = ""


_SOFTWARE = tuple(each for each in SiteType if each not in (SiteType.NEWS, SiteType.UNKNOWN))
_HEAD = 40_000  # bytes in which style sheets, scripts and the like are
_TAIL = 6_000  # bytes in which "Powered by" is
_MOST_LINKS = 1_000  # examined if nothing else matches
_FOREIGN = re.compile(r"=https?(?::|%3a)", re.IGNORECASE)  # in a query: a URL of another site

_HOSTS = {
    ".blogspot.": SiteType.BLOGGER,
    ".wordpress.com": SiteType.WORDPRESS,
    ".wikipedia.org": SiteType.MEDIAWIKI,
    ".wikimedia.org": SiteType.MEDIAWIKI,
}
_BODY_NAMES = {
    "phpbb": SiteType.PHPBB,
    "section-viewtopic": SiteType.PHPBB,
    "section-viewforum": SiteType.PHPBB,
    "mediawiki": SiteType.MEDIAWIKI,
    "wp-custom-logo": SiteType.WORDPRESS,
    "wp-singular": SiteType.WORDPRESS,
    "single-post": SiteType.WORDPRESS,
    "com_content": SiteType.JOOMLA,
    "page-node": SiteType.DRUPAL,
    "path-node": SiteType.DRUPAL,
    "path-frontpage": SiteType.DRUPAL,
    "not-logged-in": SiteType.DRUPAL,
}
"""Ids and classes of `<body>`."""

_PATHS = {
    SiteType.WORDPRESS: r"/wp-(?:content|includes)/",
    SiteType.DRUPAL: r"/sites/(?:all|default)/(?:themes|modules|files)/|/misc/drupal\.js",
    SiteType.JOOMLA: r"/media/(?:system|jui)/js/|index\.php\?option=com_|/components/com_",
    SiteType.MEDIAWIKI: r"/skins/common/|opensearch_desc\.php",
    SiteType.PHPBB: r"/styles/prosilver/|ucp\.php\?mode=",
    SiteType.VBULLETIN: r"clientscript/vbulletin",
}
"""Parts of URLs of a page's own site; in URLs of other sites they mean nothing."""

_MARKUP = (
    (SiteType.WORDPRESS, r"https://api\.w\.org/|Powered by.{0,80}WordPress"),
    (SiteType.DRUPAL, r"Drupal\.settings|drupal-settings-json"),
    (SiteType.MEDIAWIKI, r"wgArticleId|wgCanonicalNamespace|mw-content-text|poweredby_mediawiki"),
    (SiteType.PHPBB, r"Powered by.{0,80}phpBB"),
    (SiteType.VBULLETIN, r"vBulletin_init|Powered by.{0,80}vBulletin"),
    (SiteType.DISCOURSE, r"discourse_(?:theme|current)|data-discourse-|/assets/discourse"),
    (SiteType.BLOGGER, r"blogger\.com/(?:static|feeds|dyn-css|rearrange)|_WidgetManager\._Init"),
    *_PATHS.items(),
    (SiteType.NEWS, r"schema\.org/(?:Reportage)?NewsArticle|name=.?news_keywords"),
    (SiteType.NEWS, r'"@type"\s*:\s*\[?\s*"(?:Reportage|Analysis|Background)?NewsArticle"'),
)
"""RE2 expressions on markup; of those that match, the first counts."""

_LINKS = (
    (SiteType.WORDPRESS, "/wp-content/"),
    (SiteType.MEDIAWIKI, "/wiki/Special:"),
    (SiteType.MEDIAWIKI, "index.php?title=Special:"),
    (SiteType.JOOMLA, "index.php?option=com_"),
    (SiteType.PHPBB, "ucp.php?mode="),
    (SiteType.VBULLETIN, "showthread.php"),
)
"""Parts of URLs of links to the page's host."""


def site_type(page: PageView) -> SiteType:
    """Return the software of a page's site, by generator, host, classes, markup and links."""
    generator = page.generator.lower()
    for kind in _SOFTWARE:
        if kind in generator:
            return kind
    return (
        _by_host(page.url) or _by_classes(page.body_classes) or _by_markup(page) or _by_links(page)
    )


def _by_host(url: str) -> SiteType:
    host = f".{url.partition('://')[2].partition('/')[0].lower()}"
    return next((kind for name, kind in _HOSTS.items() if name in host), SiteType.UNKNOWN)


def _by_classes(classes: str) -> SiteType:
    names = classes.lower().split()
    return next((_BODY_NAMES[name] for name in names if name in _BODY_NAMES), SiteType.UNKNOWN)


def _by_markup(page: PageView) -> SiteType:
    html = page.html[:_HEAD] + page.html[_HEAD:][-_TAIL:]
    found: list[int] = _expressions().Match(html) or [] if html else []
    for kind, text in (_MARKUP[number] for number in sorted(found)):
        if _PATHS.get(kind, "") != text or _is_own_path(text, html, page.url):
            return kind
    return SiteType.UNKNOWN


def _is_own_path(path: str, html: bytes, url: str) -> bool:
    """Return whether a path is in a URL of the page's own domain, absolute or relative."""
    domain = re.escape(url_parts(url).domain)
    origin = rf"(?:(?:https?:)?//(?:[\w.-]{{0,100}}\.)?{domain})?"
    own = rf"(?:src|href|action)\s*=\s*[\"']?{origin}[^\"'<>\s:?]{{0,200}}(?:{path})"
    return re.search(own.encode(), html, re.IGNORECASE) is not None


@cache
def _expressions() -> re2.Set:
    options = re2.Options()
    options.case_sensitive = False
    options.encoding = re2.Options.Encoding.LATIN1
    expressions = re2.Set.SearchSet(options)
    for _, text in _MARKUP:
        expressions.Add(text)
    expressions.Compile()
    return expressions


def _by_links(page: PageView) -> SiteType:
    """Return the site type by links to the page's host; URLs in queries are cut off."""
    origin = "/".join(page.url.split("/", 3)[:3])
    own = [link.url for link in page.links[:_MOST_LINKS] if link.url.startswith(origin)]
    text = "\n".join(_FOREIGN.split(url, 1)[0] for url in own)
    return next((kind for kind, part in _LINKS if part in text), SiteType.UNKNOWN)
