"""The renders of a document as its page lists them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from flask import url_for
from flask_babel import lazy_gettext

from nwx.model import Capture
from nwx.quality.renders.stored_renders import FoundRender
from nwx.values.render_names import RenderKind

MOST_RENDERS = 100
"""So many renders are listed on the page of a document."""

_LABELS = {
    RenderKind.VIEW: lazy_gettext("Screenshot"),
    RenderKind.THUMBNAIL: lazy_gettext("Thumbnail"),
    RenderKind.FULL_PAGE: lazy_gettext("Full page"),
    RenderKind.TEXT: lazy_gettext("Text"),
    RenderKind.TEXT_FINAL: lazy_gettext("Final text"),
    RenderKind.PAGEINFO: lazy_gettext("Page information"),
    RenderKind.DOM: "DOM",
    RenderKind.HAR: "HAR",
    RenderKind.IMAGE_MAP: lazy_gettext("Image map"),
    RenderKind.SNAPSHOT: lazy_gettext("Snapshot"),
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
        listed.append(ListedRender(str(_LABELS[kind]), address, capture))
    return sorted(listed, key=lambda one: one.capture.timestamp)
