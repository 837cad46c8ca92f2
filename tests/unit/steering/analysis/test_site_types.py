"""The software of sites, detected from their pages."""

import pytest

from nwx.steering.analysis.page_view import page_view
from nwx.steering.analysis.site_types import SiteType, site_type


@pytest.mark.parametrize(
    ("head", "body", "kind"),
    [
        ("<meta name=generator content='WordPress 6.4'>", "", SiteType.WORDPRESS),
        ("<link rel=stylesheet href='/wp-content/themes/x.css'>", "", SiteType.WORDPRESS),
        ("<meta name=Generator content='Drupal 10 (https://drupal.org)'>", "", SiteType.DRUPAL),
        ("<script>jQuery.extend(Drupal.settings, {})</script>", "", SiteType.DRUPAL),
        ("<meta name=generator content='Joomla! - Open Source'>", "", SiteType.JOOMLA),
        ("<script src='/media/system/js/core.js'></script>", "", SiteType.JOOMLA),
        ("<script>var wgArticleId=5</script>", "", SiteType.MEDIAWIKI),
        ("", "<body class='mediawiki ltr'>", SiteType.MEDIAWIKI),
        ("", "<body id=phpbb class=nojs>", SiteType.PHPBB),
        ("", "<body>Powered by <a href=http://www.phpbb.com/>phpBB</a>", SiteType.PHPBB),
        ("<script src='clientscript/vbulletin_global.js'></script>", "", SiteType.VBULLETIN),
        ("<meta name=discourse_theme_id content=3>", "", SiteType.DISCOURSE),
        ("<link href='https://www.blogger.com/static/v1/x.css'>", "", SiteType.BLOGGER),
        ('<script>{"@type": "NewsArticle"}</script>', "", SiteType.NEWS),
        ("", "<body><a href='/wiki/Special:Search'>x</a>", SiteType.MEDIAWIKI),
        ("", "<body><a href='/ucp.php?mode=login'>x</a>", SiteType.PHPBB),
        ("<img src='//img.site.example/a/wp-content/x.png'>", "", SiteType.WORDPRESS),
        ("<img src='http://blog.test/wp-content/themes/x.png'>", "", SiteType.UNKNOWN),
        ("", "<body><a href='http://o.test/index.php?option=com_x'>x</a>", SiteType.UNKNOWN),
        ("", "<body><a href='/i?u=http%3A//o.test/wp-content/x'>x</a>", SiteType.UNKNOWN),
        ("", "<body>Nothing of the kind", SiteType.UNKNOWN),
    ],
)
def test_site_types_are_told_by_markup(head: str, body: str, kind: SiteType) -> None:
    html = f"<html><head>{head}</head>{body}</html>"
    assert site_type(page_view(html.encode(), "http://site.example/", "2020")) is kind


def test_hosts_of_blogs_tell_their_software() -> None:
    page = page_view(b"", "http://floods.blogspot.de/2012/", "2020")
    assert site_type(page) is SiteType.BLOGGER
