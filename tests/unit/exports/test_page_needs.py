"""A WACZ with resources of pages: nearest in time, through style sheets, frames and scripts."""

from pathlib import Path

from nwx.engine.base import Engine
from nwx.exports import WaczSelection
from tests.unit.exports.test_wacz import found, load, packed
from tests.warcs import Page, write_warc

PAGE = "http://a.example/page"
HTML = b"""<html><head><title>Slate</title><link rel=stylesheet href=/style.css>
<script src=/app.js></script></head><body>Slate from the quarry <img src=/image.png>
<iframe src=http://b.example/frame></iframe><a href=/further>further</a>
<img src=/moved.png><img src=/counted.png?now=17></body></html>"""
STYLE = b"@import '/more.css'; body { background: url(/ground.png) }"
NEW, OLD = "20150101000000", "20050101000000"
NEEDED = {
    "http://a.example/style.css": ("text/css", STYLE),
    "http://a.example/more.css": ("text/css", b"@font-face { src: url(/font.woff2) }"),
    "http://a.example/font.woff2": ("font/woff2", b"font"),
    "http://a.example/ground.png": ("image/png", b"ground"),
    "http://a.example/app.js": ("application/javascript", b"load('/chunks/one.js')"),
    "http://a.example/chunks/one.js": ("application/javascript", b"1"),
    "http://b.example/frame": ("text/html", b"<p>in a frame <img src=/framed.png></p>"),
    "http://b.example/framed.png": ("image/png", b"framed"),
    "http://a.example/counted.png?now=16": ("image/png", b"counted"),
}


def test_what_a_page_needs_comes_along(engine: Engine, tmp_path: Path) -> None:
    pages = [Page(PAGE, NEW, HTML)]
    pages += [Page(url, NEW, body, content_type=mime) for url, (mime, body) in NEEDED.items()]
    pages += [
        Page("http://a.example/image.png", OLD, b"old", content_type="image/png"),
        Page("http://a.example/image.png", "20140101000000", b"new", content_type="image/png"),
        Page("http://a.example/image.png", "20160202000000", b"new", content_type="image/png"),
        Page("http://a.example/further", NEW, b"<p>another page</p>"),
    ]
    load(engine, tmp_path, write_warc(tmp_path / "a.warc.gz", pages))
    out = tmp_path / "out.wacz"
    packed(engine, out, WaczSelection("quarry", with_resources=True))
    expected = {(url, NEW) for url in (PAGE, *NEEDED)}
    assert found(out) == expected | {("http://a.example/image.png", "20140101000000")}
    packed(engine, out, WaczSelection("quarry"))
    assert found(out) == {(PAGE, NEW)}


def test_parts_that_a_script_asks_for_by_a_query_come_along(engine: Engine, tmp_path: Path) -> None:
    html = b"<p>quarry</p><script src='/load.php?part=start'></script><img src='/draw.php?of=1'>"
    scripts = [
        Page(f"http://a.example/load.php?part={part}", when, b"1", content_type="text/javascript")
        for part, when in (("start", NEW), ("menu", "20150101120000"), ("old", OLD))
    ]
    images = [
        Page(f"http://a.example/draw.php?of={number}", NEW, b"image", content_type="image/png")
        for number in (1, 2)
    ]
    load(
        engine,
        tmp_path,
        write_warc(tmp_path / "a.warc.gz", [Page(PAGE, NEW, html), *scripts, *images]),
    )
    out = tmp_path / "out.wacz"
    packed(engine, out, WaczSelection("quarry", with_resources=True))
    assert {url.rpartition("=")[2] for url, _ in found(out) - {(PAGE, NEW)}} == {
        "start",
        "menu",
        "1",
    }


def test_other_queries_and_none_come_where_playback_takes_these(
    engine: Engine, tmp_path: Path
) -> None:
    html = b"<p>quarry</p><script src='/a.js?7'></script><script src='/b.js'></script>"
    scripts = [
        Page(f"http://a.example/{name}", NEW, b"1", content_type="text/javascript")
        for name in ("a.js", "b.js?v=1")
    ]
    load(engine, tmp_path, write_warc(tmp_path / "a.warc.gz", [Page(PAGE, NEW, html), *scripts]))
    out = tmp_path / "out.wacz"
    packed(engine, out, WaczSelection("quarry", with_resources=True))
    assert {url for url, _ in found(out)} == {PAGE, *(one.url for one in scripts)}


def test_where_a_page_refreshes_to_comes_along(engine: Engine, tmp_path: Path) -> None:
    html = b"<meta http-equiv=refresh content='0; url=/index.php'><p>quarry</p><a href=/no>no</a>"
    pages = [
        Page(PAGE, NEW, html),
        Page("http://a.example/index.php", NEW, b"<p>start</p><img src=/logo.png>"),
        Page("http://a.example/logo.png", NEW, b"logo", content_type="image/png"),
        Page("http://a.example/no", NEW, b"<p>no</p>"),
    ]
    load(engine, tmp_path, write_warc(tmp_path / "a.warc.gz", pages))
    out = tmp_path / "out.wacz"
    packed(engine, out, WaczSelection("quarry", with_resources=True))
    assert {url for url, _ in found(out)} == {one.url for one in pages[:3]}
