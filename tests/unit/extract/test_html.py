"""HTML: every field, with both parsers."""

import time

import pytest

from nwx.extract import PARSERS, ExtractLimits, extract
from nwx.model import Extract, Link

URL = "http://www.example.org/docs/page.html"


@pytest.fixture(params=PARSERS)
def parser(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read(markup: str | bytes, parser: str = "fast", **options: object) -> Extract:
    data = markup.encode() if isinstance(markup, str) else markup
    return extract(data, url=URL, content_type_norm="html", parser=parser, **options)  # type: ignore[arg-type]


def hrefs(found: Extract) -> list[str]:
    return [link.url for link in found.links]


def test_a_page(parser: str) -> None:
    found = read(
        """<!DOCTYPE html><html lang="en"><head><title> The  lamps
        of Lantern </title><meta name="Description" content="All &amp; every lamp">
        <meta name="author" content="Ada Tansy"></head><body><h1>Lamps</h1>
        <p>They <b>b</b>urn <em>all</em> night.<p>Second</p><h2>Oil &lt;best&gt;</h2>
        <ul><li>one<li>two</ul></body></html>""",
        parser,
    )
    assert found.title == "The lamps of Lantern"
    assert found.description == "All & every lamp"
    assert found.author == "Ada Tansy"
    assert found.headings == ("Lamps", "Oil <best>")
    assert found.content == "Lamps\nThey burn all night.\nSecond\nOil <best>\none\ntwo"
    assert found.problems == ()


def test_images_that_scripts_load_late_are_links(parser: str) -> None:
    found = read(
        """<body><img src="data:image/gif;base64,R0" data-src="/lazy.png" alt="Lamp">
        <img data-lazy-src=a.png data-srcset="b.png 1x, c.png 2x" data-original=d.png>
        <picture><source data-srcset="e.webp"><img src=e.png></picture>
        <noscript><img src="/plain.png" srcset="f.png 2x"><a href="/turn-on">on</a></noscript>
        <script>"<noscript><img src=no.png></noscript>"</script>
        <iframe data-src="/no"></iframe><p>Text""",
        parser,
    )
    folder = "http://www.example.org/docs"
    images = [link.url for link in found.links if link.kind == "img"]
    assert sorted(images) == [
        *(f"{folder}/{name}.png" for name in "abcd"),
        f"{folder}/e.png",
        f"{folder}/e.webp",
        f"{folder}/f.png",
        "http://www.example.org/lazy.png",
        "http://www.example.org/plain.png",
    ]
    assert len(found.links) == len(images)
    assert found.links[0].text == "Lamp"
    assert found.content == "Text"


def test_a_busy_machine_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "<p>" + "The lamps of Lantern burn all night, and the oil is the best. " * 20
    quick = read(page)
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    assert read(page) == quick
    assert quick.content_language == "en"


def test_open_graph_stands_in(parser: str) -> None:
    found = read(
        '<title> </title><meta property="og:title" content="T"/>'
        '<meta property="og:description" content="D">',
        parser,
    )
    assert (found.title, found.description) == ("T", "D")


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ("<script>var a</script>x<style>p{}</style>", "x"),
        ("a<noscript><p>turn it on</p></noscript>b", "ab"),
        ("<template><p>t</p></template>x", "x"),
        ("x<!-- secret -->y", "xy"),
        ("<div>a</div>b", "a\nb"),
        ("<span><div>a</div></span>b", "a\nb"),
        ("<div>a</div><script>s</script>b", "a\nb"),
        ("<div>a</div> <i>b</i>", "a\nb"),
        ("foo<b>bar</b>baz", "foobarbaz"),
        ("H<sub>2</sub>O", "H2O"),
        ("<a>one</a><a>two</a>", "one two"),
        ("<b>a</b><i>b</i>", "ab"),
        ("<i>a</i> <i>b</i>", "a b"),
        ("<i>a </i><i> b</i>", "a b"),
        ("<table><tr><td>1</td><td>2</td></tr><tr><td>3</table>", "1 2\n3"),
        ("a<br>b<hr>c", "a\nb\nc"),
        ("<textarea>t</textarea><select><option>o<option>p</select>", "t\no\np"),
        ("&amp;lt; &eacute; &#x4e2d; &nbsp; &copy", "&lt; é 中 ©"),
        ("so\u00adft\u200b hyphen\ufeff", "soft hyphen"),
        ("cafe\u0301", "caf\u00e9"),
        ("a\x01\x08b\x7f\x9c", "ab"),
        ("<p>a\n\n  b\t c", "a b c"),
    ],
)
def test_visible_text(body: str, content: str, parser: str) -> None:
    assert read(f"<html><body>{body}</body></html>", parser).content == content


def test_hostile_title_is_text(parser: str) -> None:
    found = read("<title><script>alert(1)</script></title><p>x", parser)
    assert found.title == "<script>alert(1)</script>"
    assert found.content == "x"


def test_links_of_all_kinds(parser: str) -> None:
    found = read(
        """<head><link href=/s.css rel=stylesheet><script src=a.js></script>
        <meta http-equiv=Refresh content="5; URL='next.html'"></head><body background=b.gif>
        <a href="../up.html#part"> Go <b>up</b> </a><map><area href=m alt=Area></map>
        <img src=i.png alt="An image" srcset="i2.png 2x, i3.png 3x">
        <iframe src=//f.example/></iframe>
        <form action=?q></form><a href="ftp://ftp.example.org/x">ftp</a></body>""",
        parser,
    )
    base = "http://www.example.org/"
    assert found.links == (
        Link(base + "s.css", "", "stylesheet"),
        Link(base + "docs/a.js", "", "script"),
        Link(base + "docs/next.html", "", "refresh"),
        Link(base + "docs/b.gif", "", "img"),
        Link(base + "up.html", "Go up", "a"),
        Link(base + "docs/m", "Area", "area"),
        Link(base + "docs/i.png", "An image", "img"),
        Link(base + "docs/i2.png", "An image", "img"),
        Link(base + "docs/i3.png", "An image", "img"),
        Link("http://f.example/", "", "frame"),
        Link(base + "docs/page.html?q", "", "form"),
        Link("ftp://ftp.example.org/x", "ftp", "a"),
    )


def test_base_is_honoured(parser: str) -> None:
    found = read("<base href='http://other.example/a/b'><a href=c>x</a><a href=/d>y</a>", parser)
    assert hrefs(found) == ["http://other.example/a/c", "http://other.example/d"]


def test_what_is_no_link_is_left_out(parser: str) -> None:
    found = read(
        "<a href='javascript:alert(1)'>x</a><a href='mailto:a@b.example'>m</a><a href='#top'>t</a>"
        "<img src='data:image/gif;base64,R0lGOD'><a href=''>e</a><a href='http://'>n</a>"
        "<a href='http://[::1'>b</a><a>no</a>",
        parser,
    )
    assert found.links == ()


def test_links_once_with_the_first_text(parser: str) -> None:
    found = read("<a href=x></a><a href=x#a>first</a><a href=./x>second</a>", parser)
    assert found.links == (Link("http://www.example.org/docs/x", "first", "a"),)


def test_frameset(parser: str) -> None:
    found = read(
        "<html><head><title>F</title></head><frameset><frame src=a.html><frame src=b.html>"
        "<noframes>Get another browser</noframes></frameset></html>",
        parser,
    )
    assert found.title == "F"
    assert [link.kind for link in found.links] == ["frame", "frame"]


def test_xhtml_with_empty_elements(parser: str) -> None:
    found = read(
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
        '<script src="a.js"/></head><body><p/><p>Here <a id="x"/>it is</p></body></html>',
        parser,
    )
    assert found.content == "Here it is"


def test_unknown_charset_words_do_not_matter(parser: str) -> None:
    assert read("<p>grün", parser, content_type="text/html; charset=klingon").content == "grün"


def test_limits_are_told() -> None:
    limits = ExtractLimits(characters=10, links=1, bytes=200)
    found = read("<p>one two three four<a href=a>x</a><a href=b>y</a>" + " " * 200, limits=limits)
    assert found.content == "one two th"
    assert len(found.links) == 1
    assert {problem.partition(":")[0] for problem in found.problems} == {"text", "links", "size"}


def test_out_of_time_leaves_out_the_costly_rest() -> None:
    found = read(
        "<p>" + "The harbour light burns all night long. " * 50, limits=ExtractLimits(seconds=-1)
    )
    assert found.content
    assert (found.content_language, found.signature) == ("", "")
    assert any(problem.startswith("time:") for problem in found.problems)


def test_unextractable_types_are_empty() -> None:
    assert extract(b"GIF89a", url=URL, content_type_norm="image") == Extract()
    assert read(b"") == Extract()


def test_scripts_in_links_and_headings_are_no_text(parser: str) -> None:
    found = read(
        "<h1>A<script>var a</script></h1><a href=x>b<noscript><img src=i></noscript>c</a>", parser
    )
    assert found.headings == ("A",)
    assert found.links[0].text == "bc"
