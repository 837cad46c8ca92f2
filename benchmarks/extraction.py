"""Pages per second of nwx's extraction and of BeautifulSoup with lxml, alternately in one process.

Both extract title, visible text, headings, description, absolute links with
their texts, language and signature; the last two with the same functions.
`--parser bs4` and parsing alone are measured for scale. The best of several
rounds counts, in processor time, because of other load.

    python benchmarks/extraction.py                    # on generated pages
    python benchmarks/extraction.py FILE.warc.gz …     # on the HTML of these
    python benchmarks/extraction.py --quality FILE …   # all text against long lines
"""

import argparse
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from selectolax.lexbor import LexborHTMLParser
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from benchmarks.corpus import Words
from nwx.extract import extract
from nwx.extract.charset import decode
from nwx.extract.text import language_of, prose, signature_of

SKIPPED = ("script", "style", "noscript", "template")


@dataclass(frozen=True, slots=True)
class Page:
    """An archived page."""

    url: str
    content_type: str
    data: bytes


def made_pages(count: int, words: Words, source: random.Random) -> Iterator[Page]:
    """Yield pages of about 70 KB: a menu, scripts, 160 links, prose in old table markup."""
    for number in range(count):
        title = " ".join(words.draw(6, source))
        menu = "".join(
            f'<li><a href="/{word}/">{word}</a></li>\n' for word in words.draw(60, source)
        )
        script = "var a={};for(var i=0;i<9;i++){a[i]='<b>'+i+'</b>';}\n" * 300
        body = "".join(_section(words, source) for _ in range(40))
        html = (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta name="description" content="{title}"><link rel="stylesheet" href="/s.css">'
            f"<script>{script}</script></head><body><div class=menu><ul>{menu}</ul></div>"
            f"<table><tr><td><h1>{title}</h1>{body}</td></tr></table></body></html>"
        )
        yield Page(f"http://site{number}.example/a/{number}.html", "text/html", html.encode())


def _section(words: Words, source: random.Random) -> str:
    paragraphs = []
    for _ in range(3):
        drawn = words.draw(source.randint(10, 24), source)
        drawn[5] = f'<a class="link internal" href="../{drawn[5]}.html?x=1#y">{drawn[5]}</a>'
        drawn[9] = f"<b>{drawn[9]}</b>"
        size = len(drawn)
        paragraphs.append(
            f'<div class="text wide column-{size}" style="margin:0 auto;padding:{size}px">'
            f'<p class="body copy" id="{drawn[0]}-{drawn[1]}">{" ".join(drawn)}.</p></div>\n'
        )
    return f"<h2>{' '.join(words.draw(4, source))}</h2>\n{''.join(paragraphs)}"


def archived_pages(files: list[Path]) -> Iterator[Page]:
    """Yield the HTML responses of WARC files; unreadable records are skipped."""
    for path in files:
        with path.open("rb") as stream:
            try:
                yield from _responses(stream)
            except ArchiveLoadFailed as error:
                print(f"{path}: {error}")


def _responses(stream: object) -> Iterator[Page]:
    for record in ArchiveIterator(stream):
        if record.rec_type != "response" or not record.http_headers:
            continue
        kind = record.http_headers.get_header("Content-Type", "")
        if "html" in kind:
            data = record.content_stream().read()
            if data:
                yield Page(record.rec_headers["WARC-Target-URI"], kind, data)


def with_nwx(page: Page, parser: str = "fast") -> object:
    """Return the fields that nwx extracts from a page."""
    return extract(
        page.data,
        url=page.url,
        content_type_norm="html",
        content_type=page.content_type,
        parser=parser,
    )


def with_soup(page: Page) -> object:
    """Return the same fields, extracted by a plain program with BeautifulSoup."""
    soup = BeautifulSoup(page.data, "lxml")
    title = soup.title.get_text() if soup.title else ""
    found = soup.find("meta", attrs={"name": "description"})
    description = found.get("content") if found else ""
    links = []
    for tag in soup.find_all(["a", "area", "link", "img", "script", "iframe"]):
        reference = tag.get("href") or tag.get("src")
        if reference:
            try:
                links.append(
                    (urljoin(page.url, str(reference)), tag.get_text(strip=True), tag.name)
                )
            except ValueError:
                continue
    headings = [tag.get_text(strip=True) for tag in soup.find_all(re.compile("^h[1-6]$"))]
    for tag in soup(SKIPPED):
        tag.decompose()
    text = soup.get_text("\n", strip=True)
    return title, description, links, headings, text, language_of(text), signature_of(text)


def parse_alone(page: Page) -> object:
    """Return the parsed tree only."""
    return LexborHTMLParser(decode(page.data, page.content_type))


WAYS: dict[str, Callable[[Page], object]] = {
    "BeautifulSoup(lxml)": with_soup,
    "nwx --parser bs4": lambda page: with_nwx(page, "bs4"),
    "nwx": with_nwx,
    "decoding and parsing alone": parse_alone,
}


def compare(pages: list[Page], rounds: int) -> None:
    """Print pages per second of each way and its ratio to BeautifulSoup."""
    size = sum(len(page.data) for page in pages) / len(pages)
    print(f"{len(pages)} pages of {size / 1000:.0f} KB each")
    best = dict.fromkeys(WAYS, float("inf"))
    for _ in range(rounds):
        for name, way in WAYS.items():
            began = time.process_time()
            for page in pages:
                way(page)
            best[name] = min(best[name], time.process_time() - began)
    for name, seconds in best.items():
        ratio = best["BeautifulSoup(lxml)"] / seconds
        print(f"{name:28} {len(pages) / seconds:8.0f} pages/s  {ratio:6.1f} x")


def quality(pages: list[Page]) -> None:
    """Print how often the declared language is detected, from all text and from long lines."""
    for name, chosen in (("all text", lambda text: text), ("long lines", prose)):
        right = wrong = unsure = 0
        for page in pages:
            declared = re.search(rb"<html[^>]{0,300}\slang=[\"']?([a-zA-Z]{2})", page.data[:5000])
            if declared is None:
                continue
            text = extract(page.data, url=page.url, content_type_norm="html").content
            told = language_of(chosen(text))
            right += told == declared[1].decode().lower()
            unsure += not told
            wrong += bool(told) and told != declared[1].decode().lower()
        print(f"language from {name}: {right} as declared, {wrong} another, {unsure} not told")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quality", action="store_true")
    options = parser.parse_args()
    source = random.Random(7)
    pages = (
        list(archived_pages(options.files))
        if options.files
        else list(made_pages(options.pages, Words(20_000, source), source))
    )
    if options.quality:
        quality(pages)
    else:
        compare(pages, options.rounds)


if __name__ == "__main__":
    main()
