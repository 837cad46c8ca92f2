"""Sitemaps, feeds and robots.txt as links."""

import gzip

import pytest

from nwx.steering.analysis.url_lists import url_list_view

BASE = "http://a.test/x/list.xml"
SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"><url><loc> http://a.test/flood </loc>
<lastmod>2014-05-02</lastmod><n:news><n:title>The flood</n:title></n:news>
<n:image><n:loc>http://a.test/i.png</n:loc></n:image></url></urlset>"""
INDEX = b"<sitemapindex><sitemap><loc>http://a.test/1.xml.gz</loc></sitemap></sitemapindex>"
RSS = b"""<rss><channel><title>All</title><link>http://a.test/</link>
<item><title>Dykes &amp; more
</title><link>/dyke</link>
<pubDate>Fri, 02 May 2014 10:00:00 +0200</pubDate></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="/"/>
<entry><title>Dykes</title><link rel="edit" href="/edit"/>
<link href="../dyke"/><updated>2014-05-02T08:00:00Z</updated></entry>
</feed>"""
BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaa">]><urlset><url><loc>http://a.test/&a;</loc></url></urlset>'


@pytest.mark.parametrize(
    ("data", "link"),
    [
        (SITEMAP, ("http://a.test/flood", "The flood", "20140502000000")),
        (gzip.compress(SITEMAP, mtime=0), ("http://a.test/flood", "The flood", "20140502000000")),
        (SITEMAP[:-9], ("http://a.test/flood", "The flood", "20140502000000")),
        (INDEX, ("http://a.test/1.xml.gz", "", "")),
        (RSS, ("http://a.test/dyke", "Dykes & more", "20140502080000")),
        (ATOM, ("http://a.test/dyke", "Dykes", "20140502080000")),
    ],
)
def test_entries_are_links(data: bytes, link: tuple[str, str, str]) -> None:
    found = url_list_view(data, BASE, "20150101000000")
    assert [(one.url, one.text, one.changed) for one in found.links] == [link]
    assert found.content == ""


@pytest.mark.parametrize("data", [BOMB, b"<url>" * 1_000, b"\x1f\x8bno", b"", b"\xff<", b"text"])
def test_what_is_no_list_or_hostile_has_no_links(data: bytes) -> None:
    assert url_list_view(data, BASE, "20150101000000").links == ()


def test_robots_txt_names_sitemaps() -> None:
    text = b"User-agent: *\nDisallow: /a\n sitemap: /s.xml\nSitemap:http://b.test/t.xml.gz\n"
    found = url_list_view(text, "http://a.test/robots.txt", "20150101000000")
    assert [one.url for one in found.links] == ["http://a.test/s.xml", "http://b.test/t.xml.gz"]
