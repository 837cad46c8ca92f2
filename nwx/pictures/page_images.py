"""The images that a page shows or links to, with its texts about them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from nwx.errors import FormatError, UrlError
from nwx.extract.charset import decode
from nwx.extract.guard import crowded, disarm
from nwx.extract.html import repaired_html
from nwx.extract.links import Resolver, srcset_candidates
from nwx.extract.page import HIDDEN, MIB, ExtractLimits
from nwx.extract.text import clean_line
from nwx.values.urlkeys import urlkey

PAGE_LIMITS = ExtractLimits(bytes=8 * MIB, tags=400_000)
"""The limits on reading a page."""

MOST_IMAGES = 2_000
"""The most images per page."""

_MOST_CANDIDATES = 20
_LONGEST_TEXT = 500
_AROUND = 160
"""The number of characters on each side of an image that form the text around it."""

_LONGEST_URLKEY = 8_000
_SOURCES = ("src", "data-src", "data-original", "data-lazy-src")
_SETS = ("srcset", "data-srcset")
_IMAGE_NAME = re.compile(r"\.(?:avif|bmp|gif|ico|jpe?g|png|webp)(?:[?#]|$)", re.I)


class PageImage(NamedTuple):
    """An image on a page: its urlkey, and the page's texts about it."""

    urlkey: str
    alt: str = ""
    title: str = ""
    anchor: str = ""
    around: str = ""


class ImagesOfPage(NamedTuple):
    """The title of a page and its images, each urlkey once."""

    title: str
    images: tuple[PageImage, ...]


@dataclass(slots=True)
class _Found:
    """An image in the markup; `place` is the number of texts before it."""

    references: list[str]
    place: int
    alt: str = ""
    title: str = ""
    anchor: str = ""


@dataclass(slots=True)
class _Walk:
    """Intermediate result of a walk over a page."""

    texts: list[str] = field(default_factory=list)
    found: list[_Found] = field(default_factory=list)
    page_title: str = ""
    base: str = ""


def images_of_page(payload: bytes, url: str, content_type: str, charset: str) -> ImagesOfPage:
    """Return the images of a page, and its title.

    Raises FormatError on markup that would take too long to read, or cannot be read.
    """
    html = decode(payload[: PAGE_LIMITS.bytes], content_type, charset)
    html, _ = disarm(repaired_html(html, content_type), PAGE_LIMITS)
    if crowded(html):
        raise FormatError.translated("the page has tags of more than 1000 attributes")
    try:
        tree = LexborHTMLParser(html, scripting=True)
    except (SelectolaxError, UnicodeError) as error:
        raise FormatError.translated(
            "the markup cannot be read: %(reason)s", reason=error
        ) from error
    walk = _Walk()
    if tree.root is not None:
        _walk(tree.root, walk)
    return ImagesOfPage(_line(walk.page_title), tuple(_resolved(walk, url)))


def _walk(root: LexborNode, walk: _Walk) -> None:
    for node in root.traverse(include_text=True, skip_empty=True):
        tag = node.tag or ""
        if tag == "-text":
            parent = node.parent
            if parent is None or parent.tag not in HIDDEN:
                walk.texts.append(node.text_content or "")
            elif parent.tag == "title" and not walk.page_title:
                walk.page_title = (node.text_content or "").strip()
        elif tag in _READERS and len(walk.found) < MOST_IMAGES:
            found = _READERS[tag](node, node.attributes)
            if found is not None and any(found.references):
                found.place = len(walk.texts)
                walk.found.append(found)
        elif tag == "base" and not walk.base:
            walk.base = node.attributes.get("href") or ""


def _of_img(node: LexborNode, attributes: Mapping[str, str | None]) -> _Found:
    link = _parent(node, "a")
    own = attributes.get("title") or ""
    around = (link.attributes.get("title") or "") if link is not None else ""
    titles = " ".join(dict.fromkeys(filter(None, (own, around))))
    return _Found(_references(attributes), 0, attributes.get("alt") or "", titles)


def _of_source(node: LexborNode, attributes: Mapping[str, str | None]) -> _Found | None:
    """Return the image of a `<source>` in a `<picture>`, with the texts of its `<img>`."""
    picture = node.parent
    if picture is None or picture.tag != "picture":
        return None
    image = picture.last_child
    for _ in range(_MOST_CANDIDATES):
        if image is None or image.tag == "img":
            break
        image = image.prev
    found = _of_img(image, image.attributes) if image is not None else _Found([], 0)
    found.references = _references(attributes)
    return found


def _of_link(node: LexborNode, attributes: Mapping[str, str | None]) -> _Found | None:
    """Return the image that a link points to, with the link's texts."""
    href = attributes.get("href") or ""
    if not _IMAGE_NAME.search(href):
        return None
    text = node.text(deep=True)[:_LONGEST_TEXT]
    return _Found([href], 0, title=attributes.get("title") or "", anchor=text)


def _of_input(node: LexborNode, attributes: Mapping[str, str | None]) -> _Found | None:
    if (attributes.get("type") or "").lower() != "image":
        return None
    return _of_img(node, attributes)


def _of_video(node: LexborNode, attributes: Mapping[str, str | None]) -> _Found:
    del node
    return _Found([attributes.get("poster") or ""], 0, title=attributes.get("title") or "")


_READERS = {
    "img": _of_img,
    "source": _of_source,
    "a": _of_link,
    "input": _of_input,
    "video": _of_video,
}


def _parent(node: LexborNode, tag: str) -> LexborNode | None:
    """Return the nearest ancestor with a tag among the three nearest ones, or None."""
    around = node.parent
    for _ in range(3):
        if around is None or around.tag == tag:
            return around
        around = around.parent
    return None


def _references(attributes: Mapping[str, str | None]) -> list[str]:
    found = [attributes.get(name) or "" for name in _SOURCES]
    for name in _SETS:
        for number, candidate in enumerate(srcset_candidates(attributes.get(name) or "")):
            if number >= _MOST_CANDIDATES:
                break
            found.append(candidate)
    return [one for one in found if one and not one.lstrip().lower().startswith("data:")]


def _resolved(walk: _Walk, url: str) -> Iterator[PageImage]:
    """Yield the images by distinct urlkey, each with the first text of each kind."""
    resolver = Resolver(url, walk.base)
    images: dict[str, PageImage] = {}
    for found in walk.found:
        words = _words(walk, found)
        for reference in found.references:
            key = _key(resolver.absolute(reference))
            if key and (key in images or len(images) < MOST_IMAGES):
                images[key] = _merged(images.get(key), key, words)
    yield from images.values()


def _words(walk: _Walk, found: _Found) -> PageImage:
    return PageImage(
        "",
        alt=_line(found.alt),
        title=_line(found.title),
        anchor=_line(found.anchor),
        around=_around(walk.texts, found.place),
    )


def _around(texts: list[str], place: int) -> str:
    """Return the text around a place: whole words, at most _AROUND characters on each side."""
    before, after = "", ""
    number = place
    while number > 0 and len(before) <= _AROUND:
        number -= 1
        before = f"{texts[number][-_AROUND - 1 :]} {before}"
    number = place
    while number < len(texts) and len(after) <= _AROUND:
        after = f"{after} {texts[number][: _AROUND + 1]}"
        number += 1
    before, after = clean_line(before), clean_line(after)
    if len(before) > _AROUND:
        before = before[-_AROUND:].partition(" ")[2]
    if len(after) > _AROUND:
        after = after[:_AROUND].rpartition(" ")[0]
    return f"{before} {after}".strip()


def _merged(known: PageImage | None, key: str, words: PageImage) -> PageImage:
    if known is None:
        return words._replace(urlkey=key)
    return PageImage(key, *(old or new for old, new in zip(known[1:], words[1:], strict=True)))


def _line(text: str) -> str:
    return clean_line(text[:_LONGEST_TEXT]) if text else ""


def _key(url: str) -> str:
    try:
        key = urlkey(url) if url else ""
    except UrlError:
        return ""
    return key if len(key) <= _LONGEST_URLKEY else ""
