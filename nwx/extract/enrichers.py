"""Enrichers: named functions that make additional fields of captures, and their selection.

Other packages register an `Enricher` as an entry point of `nwx.enrichers`. The built-in ones are in
a table, since package metadata is slow to read.
"""

import base64
import ipaddress
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nwx.bulk.resources import temporary_folder
from nwx.errors import UsageError
from nwx.extract.charset import decode
from nwx.extract.page_fields import PageMarkup, evident_date
from nwx.extract.text import clean_line
from nwx.mappings import FieldValue, enriched_fields
from nwx.model import Capture
from nwx.plugins import plugin, plugins
from nwx.values.http import NO_HEAD, HttpHead

ALL, NONE = "all", "none"
"""Names that select every enricher, and that stop enriching."""

EnrichedFields = Mapping[str, FieldValue]

_HEADER_CHARACTERS = 200
_HASHED_CHARACTERS = 1_000_000
_LONGEST_EXTENSION = 10
_FAVICON_TYPES = ("image/x-icon", "image/vnd.microsoft.icon")
_EXIF_START = 1 << 16
_UNKNOWN = "UNKNOWN"
_HEAD_BYTES, _TAIL_BYTES = 4 << 10, 1 << 10
_PICTURES = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8")


class Exchange:
    """A capture with its payload, its HTTP head and its extracted text."""

    def __init__(
        self,
        capture: Capture,
        data: bytes = b"",
        *,
        charset: str = "",
        head: HttpHead = NO_HEAD,
        ip_address: str = "",
        content: str = "",
    ) -> None:
        self.capture, self.data, self.charset = capture, data, charset
        self.head, self.ip_address, self.content = head, ip_address, content

    @cached_property
    def page(self) -> PageMarkup:
        """The declarations of the page in the payload."""
        capture = self.capture
        html = decode(self.data, capture.content_type, self.charset)
        return PageMarkup(html, capture.url)

    @property
    def extension(self) -> str:
        """The file extension of the URL in lower case, "" without one."""
        name = _file_name(self.capture.url)
        found = name.rpartition(".")[2].lower() if "." in name else ""
        usual = found.isascii() and found.isalnum() and len(found) <= _LONGEST_EXTENSION
        return found if usual else ""


@dataclass(frozen=True, slots=True)
class Enricher:
    """A maker of fields of captures, from `nwx.mappings.enriched_fields` or others.

    `families` are the content type families whose payloads it reads, "" is any. With `heads`, it
    also runs without a payload, on the HTTP head or text. `package` must be installed for it.
    """

    what: str
    make: Callable[[Exchange], EnrichedFields]
    families: frozenset[str] = frozenset()
    heads: bool = False
    package: str = ""

    def reads(self, capture: Capture) -> bool:
        """Return whether the enricher reads the payload of a capture."""
        return "" in self.families or capture.content_type_norm in self.families


def check_enrichers(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the selected enrichers in running order; resolves `all` and `none`.

    Raises UsageError on an unknown name, and if the package of an enricher is not installed.
    """
    names = (names,) if isinstance(names, str) else names
    asked = {name.strip().lower() for text in names for name in text.split(",")} - {""}
    enrichers = known_enrichers()
    unknown = sorted(asked - {*enrichers, ALL, NONE})
    if unknown or (NONE in asked and len(asked) > 1):
        raise UsageError(
            f"there is no enricher {unknown[0]!r}; choose from {', '.join(enrichers)}, or {ALL}"
            if unknown
            else f"{NONE} cannot be combined with other enrichers"
        )
    found = tuple(name for name in enrichers if name in asked or ALL in asked)
    for name in found:
        package = enrichers[name].package
        if package and find_spec(package) is None:
            raise UsageError(
                f"the enricher {name!r} needs the package {package}; "
                "install it by `pip install 'nwx[fields]'`"
            )
    return found


def reads_payload(names: Sequence[str], capture: Capture) -> bool:
    """Return whether one of these enrichers reads the payload of a capture."""
    enrichers = known_enrichers()
    return any(enrichers[name].reads(capture) for name in names)


def enriched(names: Sequence[str], exchange: Exchange) -> dict[str, FieldValue]:
    """Return the fields that enrichers make of a capture, without empty ones."""
    found: dict[str, FieldValue] = {}
    for name in names:
        enricher = known_enrichers()[name]
        if enricher.heads or (exchange.data and enricher.reads(exchange.capture)):
            found.update(enricher.make(exchange))
    known = enriched_fields()
    return {
        name: (value,) if isinstance(value, str) and name not in known else value
        for name, value in found.items()
        if value
    }


def _file_name(url: str) -> str:
    try:
        return urlsplit(url).path.rpartition("/")[2]
    except ValueError:
        return ""


@cache
def _scanner() -> Any:
    # Loaded only in processes that read payloads: its threads do not survive a fork.
    return import_module("pygfried").Scanner()


class _ScannedFile:
    """The file that siegfried scans, with a symbolic link per extension.

    It is reused, as creating a file takes half as long as scanning it.
    """

    def __init__(self) -> None:
        held = ExitStack()
        folder = held.enter_context(temporary_folder())
        Finalize(None, held.close, exitpriority=0)  # runs in forked processes too
        self._path, self._links = Path(folder, "payload"), set[str]()
        self._file = os.open(self._path, os.O_CREAT | os.O_RDWR)

    def write(self, data: bytes, extension: str) -> Path:
        """Replace the content of the file; return its path with an extension."""
        os.pwrite(self._file, data, 0)
        os.ftruncate(self._file, len(data))
        path = self._path.with_suffix(f".{extension or '_'}")
        if extension not in self._links:
            path.symlink_to(self._path)
            self._links.add(extension)
        return path


_scanned_file = cache(_ScannedFile)


def _format(exchange: Exchange) -> EnrichedFields:
    """Return the PRONOM id and type of a payload, by its bytes and else by its extension.

    siegfried reads files only. It gets only the beginning and end of texts and pictures: a scan of
    the whole takes at least twice as long and finds the same formats.
    """
    data = exchange.data
    in_parts = exchange.capture.content_type_norm in _TEXTS or data.startswith(_PICTURES)
    if in_parts and len(data) > _HEAD_BYTES + _TAIL_BYTES:
        data = data[:_HEAD_BYTES] + data[-_TAIL_BYTES:]
    path = _scanned_file().write(data, exchange.extension)
    try:
        puid = _scanner().identify(str(path))
        if puid not in _types:
            _types[puid] = _type(_scanner().identify(str(path), detailed=True))
    except import_module("pygfried").GoError:
        return {}
    return {"puid": puid, "content_type_droid": _types[puid]} if puid != _UNKNOWN else {}


_types: dict[str | None, str] = {None: "", _UNKNOWN: ""}
"""Media types by PRONOM id, cached as a detailed scan costs a third more."""


def _type(found: Mapping[str, Any]) -> str:
    match = found["files"][0]["matches"][0]
    media_type, version = match["mime"].partition(",")[0].strip(), match["version"]
    return f"{media_type}; version={version}" if media_type and version else media_type


def _extension(exchange: Exchange) -> EnrichedFields:
    return {"content_type_ext": exchange.extension}


def _server(exchange: Exchange) -> EnrichedFields:
    server = clean_line(exchange.head.text(b"server")[:_HEADER_CHARACTERS])
    try:
        address = str(ipaddress.ip_address(exchange.ip_address.strip()))
    except ValueError:
        address = ""
    return {"server": server, "warc_ip": address}


def _generator(exchange: Exchange) -> EnrichedFields:
    return {"generator": exchange.page.generator()}


def _license(exchange: Exchange) -> EnrichedFields:
    return {"license_url": exchange.page.license()}


def _keywords(exchange: Exchange) -> EnrichedFields:
    return {"keywords": exchange.page.keywords()}


def _dates(exchange: Exchange) -> EnrichedFields:
    timestamp = exchange.capture.timestamp
    is_page = exchange.data and exchange.capture.content_type_norm in _PAGES
    published = exchange.page.published(timestamp) if is_page else ""
    modified = exchange.page.modified(timestamp) if is_page else ""
    modified = modified or evident_date(exchange.head.text(b"last-modified"), timestamp)
    return {
        "publication_date": published,
        "publication_year": published[:4],
        "last_modified": modified,
        "last_modified_year": modified[:4],
    }


def _elements(exchange: Exchange) -> EnrichedFields:
    found = exchange.page.elements()
    return {
        "elements_used": tuple(name for name, _ in found),
        "elements_counts": tuple(count for _, count in found),
    }


def _text_hash(exchange: Exchange) -> EnrichedFields:
    text = exchange.content[:_HASHED_CHARACTERS]
    found = import_module("tlsh").hash(text.encode("utf-8", "replace")) if text else ""
    return {} if found in ("", "TNULL") else {"tlsh_hash": found}


def _favicon(exchange: Exchange) -> EnrichedFields:
    """Return the favicon hash that Shodan and other services use to find sites."""
    name = _file_name(exchange.capture.url).lower()
    if not (name.startswith("favicon") or exchange.capture.content_type in _FAVICON_TYPES):
        return {}
    encoded = base64.encodebytes(exchange.data)
    return {"favicon_hash": str(import_module("mmh3").hash(encoded))}


def _exif(exchange: Exchange) -> EnrichedFields:
    if b"Exif" not in exchange.data[:_EXIF_START]:
        return {}
    from nwx.extract.exif import exif_of_payload  # loads the picture library

    latitude, longitude, taken = exif_of_payload(exchange.data)
    date = evident_date(f"{taken[:8]}T{taken[8:]}" if taken else "", exchange.capture.timestamp)
    place = "" if latitude is None or longitude is None else f"{latitude:.6f},{longitude:.6f}"
    return {"exif_date": date, "exif_location": place}


_TEXTS = frozenset({"html", "text", "script", "style"})
_PAGES = frozenset({"html"})
_IMAGES = frozenset({"image"})
_ANY = frozenset({""})

ENRICHERS: Mapping[str, Enricher] = {
    "format": Enricher("PRONOM id and type by signature", _format, _ANY, package="pygfried"),
    "extension": Enricher("extension of the URL", _extension, heads=True),
    "server": Enricher("server software and IP address", _server, heads=True),
    "generator": Enricher("software that made the page", _generator, _PAGES),
    "license": Enricher("licence", _license, _PAGES),
    "keywords": Enricher("keywords", _keywords, _PAGES),
    "dates": Enricher("dates of publication and of the last change", _dates, _PAGES, heads=True),
    "elements": Enricher("HTML elements and how often they occur", _elements, _PAGES),
    "text-hash": Enricher("fuzzy hash of the text", _text_hash, heads=True, package="tlsh"),
    "favicon": Enricher("hash of the favicon", _favicon, _IMAGES, package="mmh3"),
    "exif": Enricher("place and time of a photograph", _exif, _IMAGES),
}
"""The built-in enrichers by name, in the order in which they run."""


@cache
def known_enrichers() -> Mapping[str, Enricher]:
    """Return the enrichers of nwx and of other packages, by name."""
    found = dict(ENRICHERS)
    for name in plugins("enrichers"):
        other: object = plugin("enrichers", name)
        if isinstance(other, Enricher):
            found[name] = other
    return found
