"""The head and the links of an HTML page as WAT files have them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from nwx.extract.charset import decode
from nwx.extract.guard import disarm
from nwx.extract.html import repaired_html
from nwx.extract.page import ExtractLimits

_LIMITS = ExtractLimits()
_LONGEST_TEXT = 128
_LONGEST_DATA_URL = 128
_MOST_CSS = 100_000

# element -> attributes with URLs, each with the attributes that are noted beside it
_LINKS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "a": (("href", ("target", "alt", "title", "rel", "hreflang", "type")),),
    "applet": (("codebase", ()), ("cdata", ())),
    "area": (("href", ("rel",)),),
    "audio": (("src", ()),),
    "blockquote": (("cite", ()),),
    "button": (("formaction", ()),),
    "del": (("cite", ()),),
    "embed": (("src", ()),),
    "form": (("action", ("target", "method")),),
    "frame": (("src", ()),),
    "iframe": (("src", ()),),
    "img": (("src", ("alt", "title")), ("longdesc", ())),
    "input": (("src", ()), ("formaction", ())),
    "ins": (("cite", ()),),
    "link": (("href", ("rel", "type")),),
    "menuitem": (("icon", ()),),
    "object": (("codebase", ()), ("cdata", ()), ("data", ())),
    "q": (("cite", ()),),
    "script": (("src", ("type",)),),
    "source": (("src", ()),),
    "track": (("src", ()),),
    "video": (("src", ()), ("poster", ())),
}
_ANY_ELEMENT = ("background", "data-href", "data-uri")
_META = ("name", "rel", "content", "http-equiv", "property")
_WANTED = ",".join(
    [*_LINKS, "html", "base", "meta", "title", "style", "div[onclick]"]
    + [f"[{name}]" for name in _ANY_ELEMENT]
)
_IN_HEAD = {"link": "Link", "script": "Scripts"}
_CSS_URL = re.compile(r"url\s*\(\s*([^)\s]{1,8000}?)\s*\)")
_CSS_IMPORT = re.compile(r"@import\s+((?:'[^']+')|(?:\"[^\"]+\")|(?:[a-z0-9_.:/\\-]+))\s*;")
_CSS_QUOTES = re.compile(r"^(?:\\?[\"'])+|(?:\\?[\"'])+$")
_ON_CLICK = (
    re.compile(
        r"^(?:javascript:)?(?:(?:window|top|document|self|parent)\.)?location(?:\.href)?\s*=\s*"
        r"'([^'\"]{3,256})'$",
        re.I,
    ),
    re.compile(r"^(?:javascript:)?(?:window|parent)\.open\(['\"]([^\"']{3,256}?)['\"][,)]", re.I),
)

_Entry = dict[str, Any]


def html_metadata(data: bytes, content_type: str, charset: str) -> _Entry:
    """Return the `HTML-Metadata` of a page: its head, and its links as the markup has them."""
    html = repaired_html(decode(data, content_type, charset), content_type)
    html, _ = disarm(html, _LIMITS)
    try:
        tree = LexborHTMLParser(html)
    except (SelectolaxError, UnicodeError):
        return {}
    page = _Page()
    for node in tree.css(_WANTED):
        page.add(node)
    return page.metadata()


class _Page:
    """The metadata of a page; a link with text follows those within its element."""

    def __init__(self) -> None:
        self._head: _Entry = {}
        self._links: list[_Entry] = []
        self._open: list[tuple[_Entry, int]] = []  # anchors, and how many elements they still have

    def metadata(self) -> _Entry:
        """Return what was found, without what is empty."""
        while self._open:
            self._links.append(self._open.pop()[0])
        found = {"Head": self._head, "Links": self._links}
        return {name: value for name, value in found.items() if value}

    def add(self, node: LexborNode) -> None:
        """Add the next element of the page."""
        tag, attributes = node.tag or "", node.attributes
        self._close()
        for name in _ANY_ELEMENT:
            if url := attributes.get(name):
                self._links.append(_link(tag, name, url))
        self._about(tag, node, attributes)
        for name, others in _LINKS.get(tag, ()):
            if name not in attributes:
                continue
            url = attributes[name] or ""
            noted = {other: attributes[other] or "" for other in others if other in attributes}
            link = _link(tag, name, url) | noted
            if tag == "a":
                text = " ".join(node.text().split())[:_LONGEST_TEXT].rstrip()
                inner = len(node.css(_WANTED)) - 1
                self._open.append((link | ({"text": text} if text else {}), inner))
            elif tag in _IN_HEAD:
                self._head.setdefault(_IN_HEAD[tag], []).append(link)
            else:
                self._links.append(link)
        if tag in ("div", "input"):
            self._links += _of_script(tag, attributes.get("onclick") or "")

    def _close(self) -> None:
        """Add the anchors whose elements have all passed."""
        while self._open and self._open[-1][1] == 0:
            self._links.append(self._open.pop()[0])
        self._open = [(link, left - 1) for link, left in self._open]

    def _about(self, tag: str, node: LexborNode, attributes: Mapping[str, str | None]) -> None:
        metas: list[_Entry] = []
        if tag == "html":
            names = ("lang", "xml:lang")
            given = {name: attributes[name] for name in names if attributes.get(name)}
            metas = [{"name": f"HTML@/{name}", "content": value} for name, value in given.items()]
        elif tag == "meta":
            meta = {name: value for name in _META if (value := attributes.get(name)) is not None}
            if meta.get("property") == "og:image":
                meta["content"] = _short(meta.get("content", ""))
            metas = [meta] if len(meta) > 1 else []
        elif tag == "base" and (base := attributes.get("href")):
            self._head["Base"] = base
        elif tag == "title" and not _is_in_svg(node):
            self._head.setdefault("Title", " ".join(node.text().split())[:_LONGEST_TEXT])
        elif tag == "style":
            self._links += _of_style(node.text())
        if metas:
            self._head.setdefault("Metas", []).extend(metas)


def _is_in_svg(node: LexborNode) -> bool:
    return node.parent is not None and node.parent.tag == "svg"


def _link(tag: str, name: str, url: str) -> _Entry:
    return {"path": f"{tag.upper()}@/{name}", "url": _short(url)}


def _of_script(tag: str, script: str) -> Iterator[_Entry]:
    for pattern in _ON_CLICK:
        if found := pattern.search(script):
            yield _link(tag, "onclick", found[1])


def _of_style(css: str) -> Iterator[_Entry]:
    for pattern in (_CSS_URL, _CSS_IMPORT):
        for found in pattern.finditer(css[:_MOST_CSS]):
            if url := _CSS_QUOTES.sub("", found[1]):
                yield {"path": "STYLE/#text", "href": _short(url)}


def _short(url: str) -> str:
    """Return a URL, a `data:` URL without its data."""
    if not url.startswith("data:"):
        return url
    comma = url.find(",", 0, _LONGEST_DATA_URL + 1)
    return url[: comma + 1] if comma >= 0 else url[:_LONGEST_DATA_URL]
