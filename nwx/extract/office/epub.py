"""EPUB: the chapters of a book in their order, each read as a page."""

from dataclasses import replace
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from nwx.extract.html import extract_html
from nwx.extract.limits import ExtractPayload
from nwx.extract.office.metadata import office_metadata
from nwx.extract.office.parts import Parts
from nwx.extract.office.problems import Stop
from nwx.extract.office.text import OfficeText
from nwx.extract.office.xml import Attributes, read_xml

CONTAINER = "META-INF/container.xml"
MIME_TYPE = b"application/epub+zip"

_MOST_CHAPTERS = 5_000
_BOOK = "http://book.invalid/"  # its parts lie there while a chapter is read (RFC 2606)
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def read_epub(parts: Parts, text: OfficeText, payload: ExtractPayload) -> None:
    """Add what the chapters of a book say to a text."""
    container = _Container()
    read_xml(parts, CONTAINER, container)
    packages = container.packages or [name for name in parts.names if name.endswith(".opf")][:1]
    for package in packages[:1]:
        text.metadata = office_metadata(parts, package)
        listed = _Package()
        read_xml(parts, package, listed)
        for number, reference in enumerate(listed.chapters()):
            if number >= _MOST_CHAPTERS:
                raise Stop(f"office: more than {_MOST_CHAPTERS} chapters, the rest was left out")
            name = normpath(join(dirname(package), unquote(reference.partition("#")[0])))
            _read_chapter(parts, text, payload, name)


def _read_chapter(parts: Parts, text: OfficeText, payload: ExtractPayload, name: str) -> None:
    if name not in parts:
        parts.problems.append("office: a chapter is missing")
        return
    parts.check_time()
    data = parts.read(name, payload.limits.bytes)
    # an entity that is declared here means nothing to a parser of HTML
    page = extract_html(
        replace(payload, data=data, url=f"{_BOOK}{name}", content_type=_PAGES[0], charset="")
    )
    parts.problems.extend(page.problems)
    for heading in page.headings:
        text.add_heading(heading)
    for link in page.links:
        if not link.url.startswith(_BOOK):
            text.add_link(link.url, link.text)
    for line in page.content.split("\n"):
        text.add(line)
        text.end_block()


class _Container:
    """Collects the names of the packages of a container."""

    def __init__(self) -> None:
        self.packages: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "rootfile" and (path := attributes.get("full-path")):
            self.packages.append(path)

    def end(self, name: str) -> None:
        pass

    def data(self, text: str) -> None:
        pass


class _Package:
    """Collects what a package lists: its files by id, and the order of reading."""

    def __init__(self) -> None:
        self._pages: dict[str, str] = {}
        self._order: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "item" and attributes.get("media-type", "") in _PAGES:
            self._pages[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self._order.append(attributes.get("idref", ""))

    def end(self, name: str) -> None:
        pass

    def data(self, text: str) -> None:
        pass

    def chapters(self) -> list[str]:
        """Return the references to the chapters, each once."""
        ids = dict.fromkeys(id for id in self._order if id in self._pages)
        return [self._pages[id] for id in ids or self._pages]
