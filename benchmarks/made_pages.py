"""WARC files of pages like real ones: much markup, some text."""

import base64
import gzip
import hashlib
import random
from pathlib import Path

from benchmarks.corpus import Words


def made_files(folder: Path, files: int, pages: int, year: int = 2016) -> list[str]:
    """Make WARC files with `pages` pages each, an image for every second one; return the paths."""
    words = Words(30_000, random.Random(1))
    made = []
    for number in range(files):
        path = folder / f"made-{year}-{number:04}.warc.gz"
        source = random.Random(number)
        with path.open("wb") as file:
            for page in range(pages):
                base = f"http://www.site{source.randint(1, 40)}.example"
                body = _page(base, words, source)
                file.write(_member(f"{base}/{number}/{page}.html", "text/html", body, year))
                if page % 2:
                    image = b"\x89PNG\r\n\x1a\n" + source.randbytes(30_000)
                    file.write(_member(f"{base}/{number}/{page}.png", "image/png", image, year))
        made.append(str(path))
    return made


def _page(base: str, words: Words, source: random.Random) -> bytes:
    """Make a page with typical proportions: 68 KB, 135 links, 6,000 characters of text."""
    title = " ".join(words.draw(6, source))
    scripts = "".join(
        f"<script>var data{n} = {{id: '{source.randbytes(1_000).hex()}'}};</script>\n"
        for n in range(11)
    )
    style = ".card { margin: 0 auto; padding: 4px }\n" * 150
    menu = "".join(_menu_item(number, words, source) for number in range(75))
    cards = "".join(_card(base, number, words, source) for number in range(20))
    headings = "".join(f"<h2>{' '.join(words.draw(4, source))}</h2>" for _ in range(5))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"{scripts}<style>{style}</style></head><body><ul>{menu}</ul><h1>{title}</h1>"
        f"{headings}{cards}</body></html>"
    ).encode()


def _menu_item(number: int, words: Words, source: random.Random) -> str:
    link, *anchor = words.draw(3, source)
    return (
        f'<li class="menu-item menu-item-type-post menu-item-{number}"><div class="menu-wrap">'
        f'<a class="nav-link" href="/{link}" data-track="nav:{number}:{link}" target="_self">'
        f'<span class="icon icon-{number}"></span>{" ".join(anchor)}</a></div></li>\n'
    )


def _card(base: str, number: int, words: Words, source: random.Random) -> str:
    text = " ".join(words.draw(28, source))
    return (
        f'<div class="row"><div class="col col-md-6"><div class="card" id="card-{number}"'
        f' data-config="{source.randbytes(300).hex()}"><p class="card__text">{text}'
        f' <b>{text[:20]}</b> <a href="{base}/more/{number}" rel="nofollow" class="card__more"'
        f' title="{text[:30]}">{text[20:40]}</a></p>'
        f'<a href="{base}/image/{number}"><img src="/images/{number}.png" width="120" alt=""></a>'
        f'<a href="/tag/{number}" class="tag">{text[:9]}</a></div></div></div>\n'
    )


def _member(url: str, content_type: str, body: bytes, year: int) -> bytes:
    digest = base64.b32encode(hashlib.sha1(body).digest()).decode()
    block = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
        f"WARC-Date: {year}-01-02T03:04:05Z\r\nWARC-Payload-Digest: sha1:{digest}\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n", 6)
