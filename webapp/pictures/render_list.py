"""The renders of a document as its page lists them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from flask import url_for

from nwx.model import Capture
from nwx.quality.renders.lookup import FoundRender
from nwx.values.render_names import RenderKind

MOST_RENDERS = 100
"""So many renders are listed on the page of a document."""

_LABELS = {
    RenderKind.VIEW: "Screenshot",
    RenderKind.THUMBNAIL: "Thumbnail",
    RenderKind.FULL_PAGE: "Full page",
    RenderKind.TEXT: "Text",
    RenderKind.TEXT_FINAL: "Final text",
    RenderKind.PAGEINFO: "Page information",
    RenderKind.DOM: "DOM",
    RenderKind.HAR: "HAR",
    RenderKind.IMAGE_MAP: "Image map",
    RenderKind.SNAPSHOT: "Snapshot",
}


class ListedRender(NamedTuple):
    """A render in a list: what it is called, where it is shown, the capture that it is."""

    label: str
    address: str
    capture: Capture


def listed_renders(url: str, found: Sequence[FoundRender]) -> list[ListedRender]:
    """Return the renders of a page at a URL by time, each with its address."""
    numbers: Counter[tuple[RenderKind, str]] = Counter()
    listed = []
    for kind, capture in found:
        numbers[kind, capture.timestamp] += 1
        number = numbers[kind, capture.timestamp]
        address = url_for(
            "pictures.render",
            kind=kind,
            url=url,
            timestamp=capture.timestamp,
            number=number if number > 1 else None,
        )
        listed.append(ListedRender(_LABELS[kind], address, capture))
    return sorted(listed, key=lambda one: one.capture.timestamp)
