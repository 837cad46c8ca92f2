"""OpenDocument (ISO/IEC 26300): odt, ods and odp."""

from nwx.extract.office.metadata import office_metadata
from nwx.extract.office.parts import Parts
from nwx.extract.office.text import OfficeText
from nwx.extract.office.xml import Attributes, read_xml

CONTENT = "content.xml"
MIME_TYPES = (b"application/vnd.oasis.opendocument.", b"application/vnd.sun.xml.")
"""How the types of such files begin."""

_MOST_SPACES = 100
_SKIPPED = frozenset(("tracked-changes", "scripts", "automatic-styles", "font-face-decls", "forms"))
_BREAKS = {"tab": "\t", "line-break": "\n"}
_TITLE = "title"


def read_opendocument(parts: Parts, text: OfficeText) -> None:
    """Add what an OpenDocument file says to a text."""
    text.metadata = office_metadata(parts, "meta.xml")
    if encrypted(parts):
        parts.problems.append("office: the content is encrypted")
        return
    read_xml(parts, CONTENT, _Content(text))


def encrypted(parts: Parts) -> bool:
    """Return whether the manifest tells that parts are encrypted."""
    return b"encryption-data" in parts.read("META-INF/manifest.xml", 1 << 20)


class _Content:
    """Takes the body of a document."""

    def __init__(self, text: OfficeText) -> None:
        self._text = text
        self._skipped = self._paragraphs = self._cells = 0
        self._title_depth = self._depth = 0
        self._marks: list[int] = []
        self._links: list[tuple[str, int]] = []

    def start(self, name: str, attributes: Attributes) -> None:
        self._depth += 1
        if name in _SKIPPED:
            self._skipped += 1
        if self._skipped:
            return
        if name in ("p", "h"):
            self._paragraphs += 1
            self._marks.append(self._text.mark)
        elif name == "s":
            count = attributes.get("c", "1")[:3]
            self._text.add(" " * min(int(count) if count.isdecimal() else 1, _MOST_SPACES))
        elif name in _BREAKS:
            self._text.add(_BREAKS[name])
        elif name == "a":
            self._links.append((attributes.get("href", ""), self._text.mark))
        elif name == "table-cell":
            self._cells += 1
        elif name == "table" and (title := attributes.get("name", "")):
            self._text.add(title)
            self._text.end_block()
        elif name == "frame" and attributes.get("class") == _TITLE:
            self._title_depth = self._depth

    def end(self, name: str) -> None:
        if name in _SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        elif not self._skipped:
            self._end_shown(name)
        if self._depth == self._title_depth:
            self._title_depth = 0
        self._depth -= 1

    def _end_shown(self, name: str) -> None:
        if name in ("p", "h"):
            self._paragraphs -= 1
            mark = self._marks.pop()
            if name == "h" or self._title_depth:
                self._text.add_heading(self._text.since(mark))
            if self._cells:
                self._text.add("\t")
            else:
                self._text.end_block()
        elif name == "a" and self._links:
            address, mark = self._links.pop()
            self._text.add_link(address, self._text.since(mark))
        elif name == "table-cell":
            self._cells -= 1
        elif name == "table-row":
            self._text.end_block()

    def data(self, text: str) -> None:
        if self._paragraphs and not self._skipped:
            self._text.add(text)
