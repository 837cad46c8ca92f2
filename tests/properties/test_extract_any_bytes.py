"""Extraction of any bytes gives clean text, and both parsers give the same page."""

import re
import unicodedata
from html import escape
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.extract import PARSERS, extract
from nwx.model import Extract

URL = "http://www.example.org/a/page.html"
UNCLEAN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\ud800-\udfff\ufffe\uffff]")

pieces = st.sampled_from(
    [
        "<p>", "</p>", "<div>", "</div>", "<b>", "</i>", "<a href='x y'>", "</a>", "<a href=//[>",
        "<table><tr><td>", "</table>", "<script>", "</script>", "<title>", "</title>", "<!--",
        "-->",
        "<![CDATA[", "]]>", "<?xml version='1.0' encoding='utf-16'?>", "<meta charset=shift_jis>",
        "<meta charset='utf-7'>", "<base href='http://['>", "<svg><title>", "<template>", "&#0;",
        "&#xD800;", "&amp;lt;", "&notanentity;", "\x00", "<img src=data:x alt=y>", "<textarea>",
        "<h1>", "<frameset>", "<plaintext>", "<html lang='&#x10FFFF;'>", "<select><option>",
        "\u0301",
        "<meta http-equiv=refresh content='0;url=http://[::1'>", "\u00ad", "<a href='http:'>z", " ",
    ]
)  # fmt: skip
markup = st.lists(st.one_of(pieces, st.text(max_size=8)), max_size=30).map("".join)
payloads = st.one_of(
    st.binary(max_size=400),
    markup.map(lambda text: text.encode("utf-8", "surrogatepass")),
    markup.map(lambda text: text.encode("utf-16", "surrogatepass")),
    st.binary(max_size=200).map(lambda data: b"%PDF-1.4\n" + data),
)
labels = st.one_of(st.sampled_from(["", "utf-8", "utf-16", "hz", "x"]), st.text(max_size=6))


def assert_clean(found: Extract) -> None:
    links = [text for link in found.links for text in (link.url, link.text)]
    lines = [found.title, found.description, found.author, *found.headings, *links]
    for line in lines:
        assert "\n" not in line
    for text in (found.content, *lines):
        assert not UNCLEAN.search(text)
        assert unicodedata.is_normalized("NFC", text) or text in links
        assert text == text.strip()
    for link in found.links:
        assert urlsplit(link.url).scheme.lower() in {"http", "https", "ftp"}
        assert urlsplit(link.url).netloc
    assert re.fullmatch("([a-z]{2})?", found.content_language)
    assert re.fullmatch("([0-9a-f]{16})?", found.signature)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("family", ["html", "text", "pdf"])
@settings(deadline=None, max_examples=150)
@given(data=payloads, charset=labels, content_type=labels)
def test_any_bytes(family: str, parser: str, data: bytes, charset: str, content_type: str) -> None:
    found = extract(
        data,
        url=URL,
        content_type_norm=family,
        content_type=content_type,
        charset=charset,
        parser=parser,
    )
    assert_clean(found)


@settings(deadline=None)
@given(url=st.text(max_size=30), base=st.text(max_size=20), href=st.text(max_size=30))
def test_any_urls(url: str, base: str, href: str) -> None:
    page = f'<base href="{escape(base)}"><a href="{escape(href)}">x</a><a href="/y">y</a>'
    assert_clean(extract(page.encode("utf-8", "replace"), url=url, content_type_norm="html"))


words = st.text(alphabet="abcdef éßж中ก <&>", min_size=1, max_size=12)
inline = st.one_of(
    words.map(escape),
    st.tuples(st.sampled_from(["b", "em", "span", "sub"]), words).map(
        lambda pair: f"<{pair[0]}>{escape(pair[1])}</{pair[0]}>"
    ),
    st.tuples(st.sampled_from(["x.html", "/y?z=1", "http://o.example/", "#f", "../u"]), words).map(
        lambda pair: f'<a href="{pair[0]}">{escape(pair[1])}</a>'
    ),
    st.just("<!-- comment -->"),
    st.just("<br>"),
    st.just('<img src="i.png" alt="">'),
    st.just("<script>var a = 1 < 2;</script>"),
)
lines = st.lists(inline, max_size=5).map("".join)
blocks = st.recursive(
    st.one_of(
        lines.map(lambda line: f"<p>{line}</p>"),
        lines.map(lambda line: f"<h2>{line}</h2>"),
        st.lists(lines, max_size=3).map(
            lambda items: "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
        ),
        st.lists(lines, max_size=3).map(
            lambda cells: (
                "<table><tbody><tr>"
                + "".join(f"<td>{cell}</td>" for cell in cells)
                + "</tr></tbody></table>"
            )
        ),
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: f"<div>{''.join(parts)}</div>"),
    max_leaves=6,
)


@settings(deadline=None)
@given(title=words, body=st.lists(blocks, max_size=4).map("".join))
def test_fast_parser_reads_as_beautifulsoup_does(title: str, body: str) -> None:
    head = f"<!DOCTYPE html><html><head><title>{escape(title)}</title></head>"
    page = f"{head}<body>{body}</body></html>"
    fast, careful = (
        extract(page.encode(), url=URL, content_type_norm="html", charset="utf-8", parser=parser)
        for parser in PARSERS
    )
    assert fast == careful
