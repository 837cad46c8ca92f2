"""The renders of captured pages, joined when a question is asked.

A render is a capture of its own, with a URI of its own
(`nwx.values.render_names`). It belongs to the capture of its page that is
nearest in time, whatever the scheme, `www.` or a slash at the end.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.errors import TimestampError, UrlError
from nwx.model import Capture
from nwx.values.render_names import RENDER_KEY_STARTS, RenderKind, render_keys, render_name
from nwx.values.timestamps import normal_timestamp, seconds_between
from nwx.values.urlkeys import urlkey

MOST_NEAR = 200
"""So many captures of a page and of its renders are looked at, the nearest to a moment."""

MOST_NEAR_SHOWN = 32
"""So many where only a picture is looked for."""

SHOWN_KINDS = (
    RenderKind.THUMBNAIL,
    RenderKind.VIEW,
    RenderKind.FULL_PAGE,
    RenderKind.SNAPSHOT,
)
"""The kinds that a page is shown by, the first there is."""

_REVISIT = "revisit"
_IMAGE = "image"


class PageMoment(NamedTuple):
    """A page at a time: its URL, and the timestamp of a capture of it.

    `dates` are further timestamps at which it was captured the same: renders
    of these captures are its own too.
    """

    url: str
    timestamp: str
    dates: tuple[str, ...] = ()


class FoundRender(NamedTuple):
    """A render that belongs to a page at a time: its kind, and the capture that it is."""

    kind: RenderKind
    capture: Capture


def has_renders(engine: Engine) -> bool:
    """Tell whether an archive has any renders; a short question to its index of captures."""
    return engine.has_keys(RENDER_KEY_STARTS)


def find_renders(
    engine: Engine, url: str, timestamp: str, collection: str = ""
) -> dict[RenderKind, list[Capture]]:
    """Return the renders of a page as it was captured at a time, nearest in time first.

    Those that lie nearer to another capture of the page are left out.
    `collection` leaves only renders of this one, "" of all. Kinds without a
    render are no keys. Renders that are revisits, without bytes of their
    own, are left out.
    """
    (found,) = renders_of_pages(engine, [PageMoment(url, timestamp)])
    by_kind: dict[RenderKind, list[Capture]] = {}
    for kind, capture in found:
        if collection in ("", capture.collection):
            by_kind.setdefault(kind, []).append(capture)
    return by_kind


def find_pictures(engine: Engine, pages: Sequence[PageMoment]) -> list[Capture | None]:
    """Return for each of these pages the render that it is shown by, None where it has none.

    A thumbnail, else a view, else a picture of the whole page. It is one
    question to the engine, however many pages.
    """
    found = renders_of_pages(engine, pages, SHOWN_KINDS, MOST_NEAR_SHOWN)
    return [picture_of(renders) for renders in found]


def picture_of(renders: Iterable[FoundRender]) -> Capture | None:
    """Return the render that a page is shown by, None where none of its renders is a picture."""
    best: dict[RenderKind, Capture] = {}
    for kind, capture in renders:
        if capture.content_type_norm == _IMAGE:
            best.setdefault(kind, capture)
    return next((best[kind] for kind in SHOWN_KINDS if kind in best), None)


def renders_of_pages(
    engine: Engine,
    pages: Sequence[PageMoment],
    kinds: Sequence[RenderKind] = tuple(RenderKind),
    most: int = MOST_NEAR,
) -> list[list[FoundRender]]:
    """Return the renders of each of these pages, nearest in time first, by one question.

    They are among the `most` captures of the page and its renders that are
    nearest to its moment; see `find_renders`.
    """
    asked = {page: one for page in pages if (one := _question(page, kinds))}
    answers = engine.captures_near(list(asked.values()), most) if asked else []
    near: Mapping[PageMoment, list[Capture]] = dict(zip(asked, answers, strict=True))
    return [list(_own_renders(page, near.get(page, []))) for page in pages]


def _question(page: PageMoment, kinds: Sequence[RenderKind]) -> KeysAtTime | None:
    """Return what asks for the captures of a page and of its renders, None where it has none."""
    try:
        timestamp = normal_timestamp(page.timestamp)
        keys = render_keys(page.url, kinds)
        return KeysAtTime((urlkey(page.url), *keys), timestamp) if keys else None
    except (UrlError, TimestampError):
        return None


def _own_renders(page: PageMoment, near: Sequence[Capture]) -> Iterator[FoundRender]:
    named = [(capture, render_name(capture.url)) for capture in near]
    own = {normal_timestamp(page.timestamp), *page.dates} if near else set()
    moments = sorted(own | {capture.timestamp for capture, name in named if name is None})
    for capture, name in named:
        if name is None or capture.record_type == _REVISIT:
            continue
        if _nearest(capture.timestamp, moments) in own:
            yield FoundRender(name.kind, capture)


def _nearest(render: str, moments: Sequence[str]) -> str:
    """Return the moment that a render belongs to: the nearest, the earlier of two as near.

    `moments` are in order: a document may have thousands.
    """
    place = bisect_left(moments, render)
    beside = moments[max(0, place - 1) : place + 1]
    return min(beside, key=lambda moment: seconds_between(render, moment))
