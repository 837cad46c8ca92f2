"""How alike a page is in its crawl and in playback, by all measures."""

from typing import NamedTuple

from nwx.errors import FormatError
from nwx.model import Comparison
from nwx.quality.browser.page_render import PageRender
from nwx.quality.measures.resource_counts import resource_counts
from nwx.quality.measures.screenshots import ScreenshotMatch, screenshot_match
from nwx.quality.measures.texts import text_match
from nwx.quality.renders.page_information import PageInfo


class PageLikeness(NamedTuple):
    """Browsertrix's numbers, and the likeness of the structure of the screenshots.

    `problem` says why the screenshots could not be compared, "" where they
    were, or where there is none.
    """

    comparison: Comparison
    structure: float | None = None
    problem: str = ""


def page_likeness(
    played: PageRender, view: bytes = b"", text: str | None = None, info: PageInfo | None = None
) -> PageLikeness:
    """Compare a page in playback with what the crawl's browser kept of it.

    What there is nothing of (`view` b"", None) is not compared. As in
    Browsertrix, the matches are 0 where no resource was replayed.
    """
    counts = resource_counts(info, played)
    found, problem = _screenshots(view, played.view)
    screenshot, structure = found or (None, None)
    match = None if text is None else text_match(text, played.text)
    if not counts.is_replayed:
        screenshot, structure, match = 0.0, 0.0, 0.0
    return PageLikeness(Comparison(screenshot, match, *counts), structure, problem)


def _screenshots(crawl: bytes, played: bytes) -> tuple[ScreenshotMatch | None, str]:
    if not crawl or not played:
        return None, ""
    try:
        return screenshot_match(crawl, played), ""
    except FormatError as error:
        return None, str(error)
