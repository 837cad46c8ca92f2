"""Subjects of crawls of real collections, for the simulator: the known topics of each site.

The keywords are what an expert on the subject would write down without reading
the pages. Seeds are those of the original crawls of the collections, or the
home page if a seed is not a page.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from nwx.steering.specifications.specification import (
    CrawlSpecification,
    Entity,
    EntityKind,
    Keyword,
)


class Subject(NamedTuple):
    """A subject in a collection of `shared/data`: keywords with weights, entities with aliases."""

    name: str
    file: str
    seeds: tuple[str, ...]
    keywords: Mapping[str, float]
    entities: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    def specification(self) -> CrawlSpecification:
        """Return the specification, with default weights and thresholds."""
        return CrawlSpecification(
            self.name,
            self.seeds,
            tuple(Keyword(text, weight) for text, weight in self.keywords.items()),
            tuple(
                Entity(name, aliases, EntityKind.OTHER) for name, aliases in self.entities.items()
            ),
        )


_BLOG = "warc/ipwb-sample-1.warc.gz"
_BLOG_SEEDS = ("http://bitchmagazine.org/category/blogs/bitch-hq",)
_ARCHIVE = "warc/IAH-20080430204825-00000-blackbook.warc.gz"
_ARCHIVE_SEEDS = ("http://www.archive.org/", "http://www.archive.org/index.php")
_GOVERNMENT = "warc/BL-20140325121225068-00000-32090_opera_8443.warc.gz"
_GOVERNMENT_SEEDS = ("http://data.gov.uk/",)
_QUOTES = "wacz/quotes.wacz"
_QUOTES_SEEDS = ("https://quotes.toscrape.com/",)
_IANA = "warc/iana.warc.gz"

SUBJECTS = (
    Subject(
        "country music",
        _BLOG,
        _BLOG_SEEDS,
        {"country music": 3, "country singer": 2, "nashville": 2, "song": 1, "album": 1},
        {"Kacey Musgraves": (), "Dolly Parton": (), "Taylor Swift": ()},
    ),
    Subject(
        "drag and queer art",
        _BLOG,
        _BLOG_SEEDS,
        {"drag": 3, "drag queen": 3, "queer": 2, "gay": 1, "lesbian": 1, "transgender": 1},
        {"RuPaul": ("RuPaul's Drag Race",), "Divine": (), "John Waters": ()},
    ),
    Subject(
        "police violence",
        _BLOG,
        _BLOG_SEEDS,
        {"police brutality": 3, "police": 2, "officer": 1, "arrest": 1, "prison": 1},
        {"James Chasse": ("Alien Boy",)},
    ),
    Subject(
        "dystopian fiction",
        _BLOG,
        _BLOG_SEEDS,
        {"dystopia": 3, "dystopian": 3, "science fiction": 3, "novel": 1, "young adult": 1},
        {"The Hunger Games": ("Hunger Games",), "Jennifer Lawrence": ()},
    ),
    Subject(
        "weddings and marriage",
        _BLOG,
        _BLOG_SEEDS,
        {"wedding": 3, "marriage": 2, "bride": 2, "bachelorette": 2, "friendship": 1},
    ),
    Subject(
        "Grateful Dead",
        _ARCHIVE,
        _ARCHIVE_SEEDS,
        {"grateful dead": 3, "concert": 1, "soundboard": 2, "live music": 2, "setlist": 1},
        {"Grateful Dead": ("GD",), "Jerry Garcia": ("Garcia",), "Deadheads": ("Deadhead",)},
    ),
    Subject(
        "books and texts",
        _ARCHIVE,
        _ARCHIVE_SEEDS,
        {"book": 2, "text archive": 2, "author": 1, "librivox": 2, "publisher": 2, "library": 1},
        {"Project Gutenberg": (), "Million Book Project": (), "Open Content Alliance": ()},
    ),
    Subject(
        "films",
        _ARCHIVE,
        _ARCHIVE_SEEDS,
        {"film": 3, "movie": 2, "moving image": 2, "video": 1, "cinema": 2, "feature film": 2},
        {"Prelinger Archives": ("Prelinger",)},
    ),
    Subject(
        "legal pages",
        _GOVERNMENT,
        _GOVERNMENT_SEEDS,
        {"privacy": 2, "cookies": 2, "terms and conditions": 2, "policy": 1, "accessibility": 2},
        {"Data Protection Act": (), "Information Commissioner": ("ICO",)},
    ),
    Subject(
        "open data in cities",
        _GOVERNMENT,
        _GOVERNMENT_SEEDS,
        {"open data": 2, "council": 2, "city": 2, "community": 1, "local": 1, "hub": 1},
        {"Leeds": (), "Hampshire": (), "Open Data Institute": ("ODI",)},
    ),
    Subject(
        "government spending",
        _GOVERNMENT,
        _GOVERNMENT_SEEDS,
        {"spending": 3, "expenditure": 2, "salary": 2, "transactions": 2, "budget": 1},
        {"HM Treasury": ("Treasury",), "Cabinet Office": ()},
    ),
    Subject(
        "love",
        _QUOTES,
        _QUOTES_SEEDS,
        {"love": 3, "friend": 2, "friendship": 2, "heart": 1, "marriage": 1},
    ),
    Subject(
        "books and reading",
        _QUOTES,
        _QUOTES_SEEDS,
        {"book": 3, "reading": 3, "read": 2, "literature": 1, "library": 1},
        {"Jane Austen": (), "Jorge Luis Borges": ()},
    ),
    Subject(
        "root zone",
        _IANA,
        ("http://www.iana.org/",),
        {"root zone": 3, "root server": 3, "DNSSEC": 2, "top-level domain": 2, "name server": 1},
        {"Verisign": (), "NTIA": ()},
    ),
    Subject(
        "web archiving",
        "arc/NetarchiveSuite-netarkivet.arc.gz",
        ("http://netarchive.dk/",),
        {"web archive": 3, "harvesting": 3, "archiving": 2, "legal deposit": 2, "internet": 1},
        {"Royal Library": (), "State and University Library": (), "IIPC": ()},
    ),
)
"""The choice among several subjects of a collection does not depend on results."""

_SQLITE, _PYTHON = "usr/share/doc/sqlite3", "usr/share/doc/python3.11/html"
_POSTGRESQL = "usr/share/doc/postgresql-doc-15/html"


def _site(name: str, file: str, **keywords: int) -> Subject:
    words = {keyword.replace("_", " "): weight for keyword, weight in keywords.items()}
    return Subject(name, file, ("http://site.example/index.html",), words)


SITES = (
    _site("full text", _SQLITE, full_text=3, FTS=3, tokenizer=2, search=1),
    _site("write-ahead log", _SQLITE, write_ahead_log=3, WAL=3, checkpoint=2, journal=1),
    _site("testing", _SQLITE, test=2, test_coverage=3, fuzz=2, TCL=1),
    _site("JSON", _SQLITE, JSON=3, json_function=2, array=1, object=1),
    _site("network", _PYTHON, socket=3, HTTP=2, server=2, network=2, client=1),
    _site("date and time", _PYTHON, date=2, time=2, time_zone=3, calendar=3, datetime=3),
    _site("XML", _PYTHON, XML=3, DOM=2, HTML=2, parser=1, markup=2),
    _site("audio", _PYTHON, audio=3, sound=3, sample=1, WAV=2),
    _site("replication", _POSTGRESQL, replication=3, standby=3, replica=2, publication=1),
    _site("text search", _POSTGRESQL, text_search=3, dictionary=2, tsvector=3, stemmer=2),
    _site("authentication", _POSTGRESQL, authentication=3, password=2, certificate=2, LDAP=2),
    _site("geometry", _POSTGRESQL, geometric=3, polygon=3, point=1, circle=2),
)
"""Subjects in the documentation of Debian packages, unpacked below a folder."""
