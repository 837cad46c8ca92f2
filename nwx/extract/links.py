"""The links of a page's elements: absolute, checked, deduplicated, each with its kind."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from urllib.parse import urljoin, urlsplit

from nwx.extract.page import Outline
from nwx.extract.text import clean_line
from nwx.model import Link
from nwx.values import urls as kinds

_LONGEST = 8_000  # characters of a URL; longer ones contain data
_LONGEST_TEXT = 1_000
_LONGEST_SRCSET = 100_000  # characters; it may hold images as data
_ABSOLUTE = re.compile(r"(?:https?|ftp)://[^\s/?#]", re.I)
# References resolved by prefixing the origin or folder: absolute URLs, paths,
# names in the parent folder, and names; plain characters only.
_WEB_ADDRESS = r"((?:https?|ftp)://[0-9A-Za-z_%.-][!\"$-Z^-~]{0,7900}+)"
_PATH = r"(/(?:[!\"$-.0-Z^-~][!\"$-Z^-~]{0,3900}+)?+)"
_FRAGMENT = "(?:#[!-~]*+)?+"
_PLAIN = re.compile(
    rf"(?:{_WEB_ADDRESS}|{_PATH}"
    r"|(?:\.\./([0-9A-Za-z_%~-][!\"$-9;-Z^-~]{0,3900}))"
    rf"|([0-9A-Za-z_%~-][!\"$-9;-Z^-~]{{0,3900}})){_FRAGMENT}"
)
# The two most common of these forms, each reference a line.
_PLAIN_LINES = re.compile(rf"^(?:{_WEB_ADDRESS}|{_PATH}){_FRAGMENT}$|^.*$", re.M)
_TOGETHER = 1_000  # references that are resolved at once
_NO_HOST = re.compile(r"[a-z]+:/*", re.I)
_LINE_BREAKS = re.compile(r"[\t\r\n]")
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\x9f\ud800-\udfff]")
_CANDIDATE = re.compile(r"[\s,]*+(\S++)")
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?+)*+")

RawLink = tuple[str, str, str]
"""Kind, attribute value and text of a link, as in the markup."""


class Resolver:
    """Resolves the references of one page to absolute URLs, as browsers do.

    The most common forms are resolved here; urljoin, ten times slower, handles the rest.
    """

    def __init__(self, url: str, base: str = "") -> None:
        joined = _joined(url, base.strip()) if base else url
        self._base = joined if _ABSOLUTE.match(joined) else url
        parts = urlsplit(_joined(self._base, "/") and self._base)
        origin = _UNSAFE.sub(_escape, f"{parts.scheme}://{parts.netloc}")
        folder = _UNSAFE.sub(_escape, parts.path.rpartition("/")[0])
        parent = folder.rpartition("/")[0]
        # the prefixes of the groups of `_PLAIN`
        relative = (origin, f"{origin}{parent}/", f"{origin}{folder}/")
        is_web = _ABSOLUTE.match(self._base) is not None
        self._fronts = ("", "", *(relative if is_web else (None, None, None)))

    def absolutes(self, references: Iterable[str]) -> dict[str, str]:
        """Return the result of `absolute` for each reference, in less than half the time."""
        distinct = list(dict.fromkeys(references))
        plain = _PLAIN_LINES.findall("\n".join(distinct))
        front = self._fronts[2]
        if len(plain) != len(distinct) or front is None:  # some have line breaks
            return {one: self.absolute(one) for one in distinct}
        pairs = zip(distinct, plain, strict=True)
        found = {one: url or (path and front + path) for one, (url, path) in pairs}
        for reference, url in found.items():
            if not url or "/." in reference:
                found[reference] = self.absolute(reference)
        return found

    def absolute(self, reference: str) -> str:
        """Return the absolute URL of a reference without its fragment, "" if it is not a link."""
        plain = _PLAIN.fullmatch(reference)
        if plain is None or "/." in reference:
            return self._resolved(reference)
        group = plain.lastindex or 0
        front = self._fronts[group]
        return "" if front is None else f"{front}{plain[group]}"

    def _resolved(self, reference: str) -> str:
        """Return the absolute URL of an unusual reference, by urljoin."""
        reference = _LINE_BREAKS.sub("", reference.strip()).partition("#")[0].rstrip()
        if not reference or len(reference) > _LONGEST or _NO_HOST.fullmatch(reference):
            return ""
        url = _joined(self._base, reference)
        if not _ABSOLUTE.match(url) or len(url) > _LONGEST:
            return ""
        return _UNSAFE.sub(_escape, url)


def _joined(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference)
    except ValueError:
        return ""


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def outlinks(raw: Iterable[RawLink], resolver: Resolver, limit: int) -> tuple[list[Link], bool]:
    """Return each link (URL and kind) once, in page order, and whether the limit was exceeded.

    Of the texts of a repeated link, the first non-empty one is kept.
    """
    found: dict[tuple[str, str], str] = {}
    raw = iter(raw)
    while some := list(islice(raw, _TOGETHER)):
        urls = resolver.absolutes(reference for _, reference, _ in some)
        for kind, reference, text in some:
            if not (url := urls[reference]):
                continue
            key = (url, kind)
            if not found.get(key):
                if len(found) >= limit and key not in found:
                    return _as_links(found), True
                line = " ".join(text[:_LONGEST_TEXT].split())
                # most are clean already, and the check is faster than a call
                found[key] = line if line.isascii() and line.isprintable() else clean_line(line)
    return _as_links(found), False


def _as_links(found: dict[tuple[str, str], str]) -> list[Link]:
    # same as Link(…), in half the time
    return [tuple.__new__(Link, (url, text, kind)) for (url, kind), text in found.items()]


def srcset_candidates(srcset: str) -> Iterator[str]:
    """Yield the URLs of a `srcset` attribute, as the HTML standard splits it."""
    srcset = srcset[:_LONGEST_SRCSET]
    position = 0
    while candidate := _CANDIDATE.match(srcset, position):
        position = candidate.end()
        url = candidate[1].rstrip(",")
        if url == candidate[1] and (descriptors := _DESCRIPTORS.match(srcset, position)):
            position = descriptors.end()
        yield url


_ATTRIBUTES = {
    "a": ("href", kinds.A),
    "area": ("href", kinds.AREA),
    "img": ("src", kinds.IMG),
    "iframe": ("src", kinds.FRAME),
    "frame": ("src", kinds.FRAME),
    "embed": ("src", kinds.MEDIA),
    "script": ("src", kinds.SCRIPT),
    "input": ("src", kinds.IMG),
    "source": ("src", kinds.MEDIA),
    "track": ("src", kinds.MEDIA),
    "audio": ("src", kinds.MEDIA),
    "video": ("src", kinds.MEDIA),
    "bgsound": ("src", kinds.MEDIA),
    "object": ("data", kinds.MEDIA),
    "form": ("action", kinds.FORM),
    "body": ("background", kinds.IMG),
}
"""Link attribute and kind by element; `<link>` depends on its relation."""

# The kinds by relation of a <link>; the first match counts.
_RELATIONS = (
    ("stylesheet", kinds.STYLESHEET),
    ("icon", kinds.ICON),
    ("apple-touch-icon", kinds.ICON),
    ("apple-touch-icon-precomposed", kinds.ICON),
    ("mask-icon", kinds.ICON),
    ("modulepreload", kinds.SCRIPT),
    ("canonical", kinds.CANONICAL),
    ("alternate", kinds.ALTERNATE),
)
# The kinds of <link rel=preload as=…>.
_PRELOADED = {
    "style": kinds.STYLESHEET,
    "script": kinds.SCRIPT,
    "image": kinds.IMG,
    "font": kinds.CSS,
    "audio": kinds.MEDIA,
    "video": kinds.MEDIA,
    "track": kinds.MEDIA,
}
_LONGEST_RELATION = 200  # characters
_REFRESH = re.compile(r"^[\s\d.;,]*url\s*=\s*[\"']?([^\"'\s]+)", re.I)


def kind_of_attribute(element: str, attribute: str) -> str:
    """Return the link kind of an attribute of an element, "" if the attribute has no own kind.

    The kind of a `<link>` depends on its relation, not on the attribute.
    """
    name, kind = _ATTRIBUTES.get(element, ("", ""))
    return kind if name == attribute else ""


def element_links(outline: Outline) -> Iterator[RawLink]:
    """Yield the links of a page's elements, in order, as in the markup."""
    for tag, element in outline.elements:
        if tag == "a":
            if value := element.attrs.get("href"):  # much faster than all attributes
                yield kinds.A, value, element.text()
        elif (found := _ATTRIBUTES.get(tag)) is not None:
            name, kind = found
            attributes = element.attributes
            if value := attributes.get(name):
                yield kind, value, element.text() if tag == "a" else attributes.get("alt") or ""
            if tag in _WITH_MORE and not _FURTHER.isdisjoint(attributes):
                yield from _further(tag, attributes)
        elif tag == "link":
            yield from _of_relation(element.attributes)
        elif tag == "meta":
            yield from _refresh(element.attributes)


_WITH_MORE = frozenset({"img", "source", "video"})
_LAZY_SOURCES = ("data-src", "data-lazy-src", "data-original")
_SRCSETS = ("srcset", "data-srcset", "data-lazy-srcset")
"""Attributes in which lazy-loading scripts keep image URLs."""

_FURTHER = frozenset((*_LAZY_SOURCES, *_SRCSETS, "poster"))


def _further(tag: str, attributes: Mapping[str, str | None]) -> Iterator[RawLink]:
    """Yield lazily loaded images, the candidates of a `srcset`, and the poster of a video."""
    text = attributes.get("alt") or ""
    for name in _LAZY_SOURCES if tag == "img" else ():
        if value := attributes.get(name):
            yield kinds.IMG, value, text
    for name in _SRCSETS:
        if srcset := attributes.get(name):
            for value in srcset_candidates(srcset):
                yield kinds.IMG, value, text
    if poster := attributes.get("poster"):
        yield kinds.IMG, poster, ""


def _of_relation(attributes: Mapping[str, str | None]) -> Iterator[RawLink]:
    kind = _relation(attributes)
    if value := attributes.get("href"):
        yield kind, value, ""
    if kind == kinds.IMG and (srcset := attributes.get("imagesrcset")):
        for value in srcset_candidates(srcset):
            yield kind, value, ""


def _relation(attributes: Mapping[str, str | None]) -> str:
    relations = (attributes.get("rel") or "")[:_LONGEST_RELATION].lower().split()
    if "preload" in relations:
        return _PRELOADED.get((attributes.get("as") or "").strip().lower(), kinds.LINK)
    return next((kind for relation, kind in _RELATIONS if relation in relations), kinds.LINK)


def _refresh(attributes: Mapping[str, str | None]) -> Iterator[RawLink]:
    if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
        return
    if match := _REFRESH.match(attributes.get("content") or ""):
        yield kinds.REFRESH, match[1], ""
