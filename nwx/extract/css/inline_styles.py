"""URLs in the `<style>` elements and the `style` and `background` attributes of a page."""

from collections.abc import Iterator

from nwx.extract.css.references import css_references
from nwx.extract.links import RawLink
from nwx.extract.page import Outline
from nwx.values.link_kinds import IMG

_SIGNS = ("url(", "@import", "image-set(")


def inline_links(outline: Outline) -> Iterator[RawLink]:
    """Yield what the inline styles of a page load, and its background images."""
    for place, value in outline.styles:
        if place == "background":
            yield IMG, value, ""
        elif _may_load(value):
            yield from css_references(value)


def _may_load(css: str) -> bool:
    """Return whether a style holds what a URL in it begins with."""
    lower = css.lower()
    return any(sign in lower for sign in _SIGNS)
