"""The sample site: texts of `texts/` rendered as the pages of each year."""

import html
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

YEARS = (2008, 2010, 2013, 2015, 2018, 2021, 2024)
HERE = Path(__file__).parent

_PYTHON_NAMES = {"gb2312": "gb18030", "tis-620": "cp874"}
_VERSION = re.compile(r"=== (\d{4})(?: as (\d{4}))?(?: charset (\S+))?")
_LINK = re.compile(r"\[([^]]*)\]\(([^)]*)\)")
_IMAGE = re.compile(r"!\[([^]]*)\]\(([^)]*)\)")
_HREF = re.compile(r'(?:href|src|background)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Version:
    """How a page reads from a year on, and when that was written."""

    year: int
    written: int
    text: str
    charset: str


@dataclass(slots=True)
class Page:
    """A page of the texts: its head and its versions, oldest first."""

    url: str
    head: dict[str, str]
    versions: list[Version] = field(default_factory=list)

    def exists(self, year: int) -> bool:
        """Return whether the page is there in a year."""
        first, last = self.head.get("from", "0"), self.head.get("until", "9999")
        return int(first) <= year <= int(last)

    def at(self, year: int) -> Version:
        """Return the version that is current in a year."""
        current = [version for version in self.versions if version.year <= year]
        return (current or self.versions[:1])[-1]


def read_pages() -> list[Page]:
    """Return all pages of the texts, in order."""
    return [
        _page(chunk)
        for name in ("town", "news", "library", "world")
        for chunk in _text(name).split("\n@ ")
    ]


def _text(name: str) -> str:
    return (HERE / "texts" / f"{name}.txt").read_text(encoding="utf-8").removeprefix("@ ")


def _page(chunk: str) -> Page:
    head, _, body = chunk.partition("\n\n")
    url, *lines = head.split("\n")
    page = Page(url, dict(line.split(": ", 1) for line in lines))
    charset = page.head.get("charset", "utf-8")
    year, text = int(page.head.get("from", YEARS[0])), []
    for line in body.strip("\n").split("\n"):
        if match := _VERSION.fullmatch(line):
            if text:
                page.versions.append(Version(year, year, "\n".join(text).strip(), charset))
            year, text, charset = int(match[1]), [], match[3] or charset
            if match[2]:
                page.versions.append(replace(page.at(int(match[2])), year=year))
        else:
            text.append(line)
    if "".join(text):
        page.versions.append(Version(year, year, "\n".join(text).strip(), charset))
    return page


def render(page: Page, year: int, pages: list[Page]) -> tuple[bytes, str]:
    """Return the bytes of a page in a year and the charset they are in."""
    version = page.at(year)
    body = version.text if page.head.get("raw") else _blocks(version.text)
    if wanted := page.head.get("list"):
        body += _list(wanted, year, pages)
    if page.head.get("counter"):
        visitors = 1000 + (year - 2000) ** 3
        body += f"<p class=counter>Visitor {visitors}. Last changed on 1 May {year}.</p>\n"
    codec = _PYTHON_NAMES.get(version.charset, version.charset)
    markup = _frameset(page) if page.head.get("frameset") else _markup(page, year, body, version)
    return markup.encode(codec, "xmlcharrefreplace"), version.charset


def links(markup: bytes) -> list[str]:
    """Return the references of a rendered page, as written."""
    return [html.unescape(found) for found in _HREF.findall(markup.decode("latin-1"))]


def _markup(page: Page, year: int, body: str, version: Version) -> str:
    """Return the page in the markup of its time; the pages of a year differ in their text only."""
    title, lang = html.escape(page.head["title"], quote=False), page.head["lang"]
    if page.head.get("raw"):
        title = page.head["title"]
    description = html.escape(re.sub(r"[*#>!\[\]()]", "", version.text[:100]).split("\n")[0])
    direction = ' dir="rtl"' if lang in {"ar", "he"} else ""
    modern = version.written >= 2013
    meta = (
        f'<meta charset="{version.charset}">'
        if modern
        else f'<meta http-equiv="Content-Type" content="text/html; charset={version.charset}">'
    )
    doctype = "<!DOCTYPE html>" if modern else '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN">'
    return f"""{doctype}
<html lang="{lang}"{direction}>
<head>
{meta}
<title>{title}</title>
<meta name="description" content="{description}">
<meta name="author" content="Town archive of Lantern">
<link rel="stylesheet" href="http://www.lantern.example/style.css">
<script src="http://www.lantern.example/lamp.js"></script>
</head>
<body>
<img src="http://www.lantern.example/images/logo.png" alt="Lantern" width="48" height="48">
<h1>{title}</h1>
{body}
<p><a href="http://www.lantern.example/">Lantern</a> | <a href="/">Home</a></p>
</body>
</html>
"""


def _frameset(page: Page) -> str:
    text = html.escape(page.at(YEARS[0]).text)
    return f"""<html><head><title>{page.head["title"]}</title></head>
<frameset cols="30%,*"><frame src="/map.html"><frame src="/history.html">
<noframes>{text}</noframes></frameset></html>
"""


def _blocks(text: str) -> str:
    return "".join(map(_block, text.split("\n\n"))) + "\n"


def _block(block: str) -> str:
    if block.startswith("## "):
        return f"<h2>{_inline(block[3:])}</h2>\n"
    if block.startswith("> "):
        return f"<blockquote>{_inline(block[2:])}</blockquote>\n"
    if block.startswith("- "):
        items = "".join(f"<li>{_inline(line[2:])}</li>\n" for line in block.split("\n"))
        return f"<ul>\n{items}</ul>\n"
    return f"<p>{_inline(block)}</p>\n"


def _inline(text: str) -> str:
    text = html.escape(text, quote=False)
    text = _IMAGE.sub(r'<img src="\2" alt="\1">', text)
    text = _LINK.sub(r'<a href="\2">\1</a>', text)
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)


def _list(wanted: str, year: int, pages: list[Page]) -> str:
    """Return a list of the pages of a host, newest last, and its feed where it has one."""
    host = f"http://{wanted}.lantern.example/"
    items = "".join(
        f'<li lang="{page.head["lang"]}"><a href="{page.url}">{page.head["title"]}</a></li>\n'
        for page in pages
        if page.url.startswith(host) and page.url != host and page.exists(year)
    )
    feed = '<p><a href="/feed.xml">Feed</a></p>\n' if wanted == "library" else ""
    return f"<ul>\n{items}</ul>\n{feed}"
