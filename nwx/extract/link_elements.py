"""Links of the elements of a page, each with its kind."""

import re
from collections.abc import Iterator, Mapping

from nwx.extract.links import RawLink, srcset_candidates
from nwx.extract.page import Outline
from nwx.values import link_kinds as kinds

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
"""Where links are: element -> attribute and kind; `<link>` depends on its relation."""

# The relations of a <link> that count, the first that it has.
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
# What a <link rel=preload as=…> loads.
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
    """Return the kind of a link in an attribute of an element, "" where that has none of its own.

    A `<link>` has a kind by its relation, which its attribute does not tell.
    """
    name, kind = _ATTRIBUTES.get(element, ("", ""))
    return kind if name == attribute else ""


def element_links(outline: Outline) -> Iterator[RawLink]:
    """Yield the links of the elements of a page, in order, as the markup has them."""
    for tag, element in outline.elements:
        found = _ATTRIBUTES.get(tag)
        if found is not None:
            name, kind = found
            attributes = element.attributes
            if value := attributes.get(name):
                yield kind, value, element.text() if tag == "a" else attributes.get("alt") or ""
            if tag in _WITH_MORE:
                yield from _further(attributes)
        elif tag == "link":
            yield from _of_relation(element.attributes)
        elif tag == "meta":
            yield from _refresh(element.attributes)


_WITH_MORE = frozenset({"img", "source", "video"})


def _further(attributes: Mapping[str, str | None]) -> Iterator[RawLink]:
    """Yield the candidates of a `srcset` and the poster of a video."""
    if srcset := attributes.get("srcset"):
        for value in srcset_candidates(srcset):
            yield kinds.IMG, value, attributes.get("alt") or ""
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
    """Return the kind of a `<link>`."""
    relations = (attributes.get("rel") or "")[:_LONGEST_RELATION].lower().split()
    if "preload" in relations:
        return _PRELOADED.get((attributes.get("as") or "").strip().lower(), kinds.LINK)
    return next((kind for relation, kind in _RELATIONS if relation in relations), kinds.LINK)


def _refresh(attributes: Mapping[str, str | None]) -> Iterator[RawLink]:
    if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
        return
    if match := _REFRESH.match(attributes.get("content") or ""):
        yield kinds.REFRESH, match[1], ""
