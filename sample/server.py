"""What the site would answer in a year."""

import base64
import hashlib
import zlib
from dataclasses import dataclass
from html import escape
from urllib.parse import urlsplit

import media
from pages import Page, render

_HOSTS = ("www", "news", "library", "world")
_STYLES = (
    (2013, "body{font:18px/1.6 Georgia,serif;max-width:44rem;margin:2rem auto;color:#222}\n"),
    (2008, "body { font-family: Verdana; background: #fffbe8; margin: 20px }\n"),
)
_SCRIPT = """// Lights the lamp after dark, by the clock of whoever looks.
var hour = new Date().getHours();
if (hour > 18 || hour < 6) { document.documentElement.className = "night"; }
"""
_FERRIES = """Ferry time-table of 1923

Lantern - Saltholm   6.00  8.00  12.00  17.30
Saltholm - Lantern   7.00  9.00  13.00  18.30

Passengers 2 øre, bicycles 1 øre, pianos by arrangement.
“No ferry in fog.” – The harbour master
"""
_REPORT_YEARS = (2024, 2018, 2013, 2008)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; `body` is the entity, `payload` what goes over the wire."""

    status: int
    content_type: str
    body: bytes
    location: str = ""
    encoding: str = ""  # gzip, or chunked

    @property
    def payload(self) -> bytes:
        """The body as sent."""
        if self.encoding == "gzip":
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            return packer.compress(self.body) + packer.flush()
        if self.encoding == "chunked":
            parts = [self.body[at : at + 500] for at in range(0, len(self.body), 500)]
            return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))
        return self.body

    def digest(self) -> str:
        """Return the SHA-1 of the payload as archives write it."""
        value = hashlib.sha1(self.payload).digest()
        return "sha1:" + base64.b32encode(value).decode()

    def headers(self) -> list[tuple[str, str]]:
        """Return the HTTP header fields."""
        fields = [("Server", "Lighthouse/1.2"), ("Content-Type", self.content_type)]
        if self.location:
            fields.append(("Location", self.location))
        if self.encoding == "chunked":
            return [*fields, ("Transfer-Encoding", "chunked")]
        if self.encoding:
            fields.append(("Content-Encoding", self.encoding))
        return [*fields, ("Content-Length", str(len(self.payload)))]

    @property
    def reason(self) -> str:
        """The words of the status line."""
        return {
            200: "OK",
            301: "Moved Permanently",
            302: "Found",
            404: "Not Found",
            500: "Internal Server Error",
        }[self.status]


class Server:
    """The hosts of the site in one year."""

    def __init__(self, pages: list[Page], year: int) -> None:
        self._year = year
        self._answers = dict(self._files()) | dict(self._oddities())
        for page in pages:
            if page.exists(year):
                body, charset = render(page, year, pages)
                kind = "text/html" if page.head.get("silent") else f"text/html; charset={charset}"
                self._answers[page.url] = Answer(200, kind, body)
        shown = [page for page in pages if page.exists(year) and "library" in page.url]
        self._answers["http://library.lantern.example/feed.xml"] = _feed(shown[1:])

    def get(self, url: str) -> Answer | None:
        """Return the answer to a URL, None for a host that does not exist yet."""
        if urlsplit(url).netloc == "static.lantern.example" and self._year < 2018:
            return None
        if url in self._answers:
            return self._answers[url]
        if url.endswith("/robots.txt"):
            return Answer(200, "text/plain", b"User-agent: *\nDisallow: /private/\n")
        return _page(404, "Not found", f"There is no {url} here. Perhaps it has gone to sea.")

    def report_lines(self) -> list[str]:
        """Return the text of the annual report."""
        year = next(year for year in _REPORT_YEARS if year <= self._year)
        return [
            f"Annual report of the town archive of Lantern, {year}",
            f"Visitors of the museum: {7000 + (year - 2000) * 311}",
            f"Kilometres of shelves: {4 + (year - 2008) / 10:.1f}",
            "Lamps that work: 206 of 206",
            "Acquisitions: the log of the barque Margarethe (given by the parrot's heirs),",
            "forty glass negatives of the flood, and a herring lamp with both its boots.",
        ]

    def _files(self) -> list[tuple[str, Answer]]:
        www = "http://www.lantern.example"
        style = next(text for year, text in _STYLES if year <= self._year)
        report = media.pdf(
            self.report_lines()[0],
            "Town archive of Lantern",
            [self.report_lines(), ["Accounts", "Income 412,000 crowns", "Oil 96,000 crowns"]],
        )
        pictures = [
            (f"{www}/images/{name}.png", Answer(200, "image/png", media.scene(name)))
            for name in ("harbour", "factory", "flood", "lens", "meteor")
        ]
        return [
            *pictures,
            (f"{www}/images/logo.png", Answer(200, "image/png", media.logo())),
            ("http://static.lantern.example/logo.png", Answer(200, "image/png", media.logo())),
            (f"{www}/images/emblem.svg", Answer(200, "image/svg+xml", media.emblem())),
            (f"{www}/style.css", Answer(200, "text/css", style.encode())),
            (f"{www}/lamp.js", Answer(200, "text/javascript", _SCRIPT.encode(), encoding="gzip")),
            (f"{www}/files/annual-report.pdf", Answer(200, "application/pdf", report)),
            (f"{www}/files/ferries.txt", Answer(200, "text/plain", _FERRIES.encode("cp1252"))),
        ]

    def _oddities(self) -> list[tuple[str, Answer]]:
        www = "http://www.lantern.example"
        found = f"{1 + (self._year - 2008) // 3} pages speak of herring this year."
        return [
            ("http://lantern.example/", _redirect(301, f"{www}/")),
            (f"{www}/lamps", _redirect(301, "/museum/")),
            (f"{www}/shop/", _redirect(302, f"{www}/shop/closed.html")),
            (f"{www}/cellar.html", _page(500, "Error", "The cellar is under water. Come back.")),
            (f"{www}/search?q=herring&page=1", _page(200, "Search: herring", found)),
        ]


def _redirect(status: int, location: str) -> Answer:
    return Answer(status, "text/html", b"", location)


def _page(status: int, title: str, text: str) -> Answer:
    markup = f"<html><head><title>{title}</title></head><body><p>{escape(text)}</p></body></html>\n"
    return Answer(status, "text/html; charset=utf-8", markup.encode())


def _feed(pages: list[Page]) -> Answer:
    items = "".join(
        f"<item><title>{escape(page.head['title'])}</title><link>{page.url}</link>"
        f"<description><![CDATA[<p>{page.versions[0].text[:160]}…</p>]]></description></item>\n"
        for page in reversed(pages)
    )
    xml = f"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>The library's diary</title>
<link>http://library.lantern.example/</link>
{items}</channel></rss>
"""
    return Answer(200, "application/rss+xml", xml.encode(), encoding="chunked")
