"""Captures of many sites, types, months and sizes for the tests of the explorer."""

from dataclasses import replace
from random import Random

from nwx.keys import document_key
from nwx.model import Batch, Capture, Dates
from tests.web.archive import capture, document

SITES = 30
HOSTILE_SITE = '<script>alert("x")</script>,\\ \u202egnp'
TYPES = (
    ("html", "text/html", 4_000),
    ("image", "image/png", 60_000),
    ("pdf", "application/pdf", 900_000),
    ("script", "text/javascript", 12_000),
    ("style", "text/css", 3_000),
    ("video", "video/mp4", 20_000_000),
)
STATUSES = (200, 200, 200, 200, 200, 200, 301, 302, 404, 404, 500, None, 999)
SUFFIXES = ("org", "example", "fr", "co.uk", "de")


def holdings(count: int = 900) -> list[Capture]:
    """Return captures in which some sites, months and types are much more frequent than others."""
    chance = Random(2026)
    return [_capture(chance, number) for number in range(count)]


def _capture(chance: Random, number: int) -> Capture:
    rank = min(int(chance.paretovariate(0.8)), SITES)
    suffix = SUFFIXES[rank % len(SUFFIXES)]
    domain = f"site{rank}.{suffix}"
    norm, mime, size = chance.choice(TYPES)
    path = min(int(chance.paretovariate(1.0)), 40)
    year, month = 2009 + int(chance.triangular(0, 6, 5)), chance.randrange(1, 13)
    url = f"http://www.{domain}/{norm}/{path}"
    text = f"{url} {chance.choice('ab')}"
    made = capture(url, f"{year}{month:02}{chance.randrange(1, 28):02}120000", text, number * 1_000)
    return replace(
        made,
        domain=domain,
        public_suffix=suffix,
        status_code=chance.choice(STATUSES),
        content_type=mime,
        content_type_norm=norm,
        content_length=None if number % 41 == 0 else int(size * chance.lognormvariate(0, 0.5)),
        collection="news" if rank % 3 == 0 else "default",
        hops="L" * chance.randrange(5) if number % 7 else "",
    )


def batch() -> Batch:
    """Return the holdings as one batch, with a document and a site with a hostile name."""
    hostile = replace(
        capture("http://evil.example/", "20140101000000", "quarry", 10_000_000),
        domain=HOSTILE_SITE,
    )
    whole = document(hostile, "quarry stones", "Quarry")
    dates = Dates(
        document_key(hostile.url, hostile.digest), ((hostile.timestamp, hostile.collection),)
    )
    return Batch((whole,), (*holdings(), hostile), (dates,))
