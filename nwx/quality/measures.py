"""Measures of playback: likeness of texts and screenshots, and counts of loaded resources."""

import re
from collections.abc import Iterable
from io import BytesIO
from typing import NamedTuple

import numpy as np
import pybind11_pixelmatch as pixelmatch
from numpy.typing import NDArray
from PIL import Image
from rapidfuzz.distance import Levenshtein

from nwx.errors import FormatError
from nwx.model import Comparison
from nwx.quality.browser.targets import PageRender
from nwx.quality.images import decoded, perceptual_hash
from nwx.quality.page_information import PageInfo

PIECE_CHARACTERS = 50_000
"""Longer texts are compared in pieces of this length, as time grows with the square."""

_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


def text_match(crawl: str, played: str) -> float:
    """Return 1 - Levenshtein distance / length of the longer text; 1 for two empty texts.

    Characters are UTF-16 code units, as in Browsertrix. The common prefix and suffix are skipped;
    if more than PIECE_CHARACTERS are left, the distances of pieces are added: never less than the
    distance, so that the match of long texts is never too high.
    """
    first, second = _code_units(crawl), _code_units(played)
    longer = max(len(first), len(second))
    return 1.0 - _distance(first, second) / longer if longer else 1.0


def _distance(first: str, second: str) -> int:
    if max(len(first), len(second)) <= PIECE_CHARACTERS:
        return int(Levenshtein.distance(first, second))
    first, second = _without_common_ends(first, second)
    longer = max(len(first), len(second))
    starts = range(0, longer, PIECE_CHARACTERS)
    pieces = (slice(start, start + PIECE_CHARACTERS) for start in starts)
    return sum(int(Levenshtein.distance(first[each], second[each])) for each in pieces)


def _without_common_ends(first: str, second: str) -> tuple[str, str]:
    start = _common_start(first, second)
    first, second = first[start:], second[start:]
    end = _common_start(first[::-1], second[::-1])
    return first[: len(first) - end], second[: len(second) - end]


def _common_start(first: str, second: str) -> int:
    """Return the length of the common start of two texts, by bisection."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _code_units(text: str) -> str:
    if text.isascii():
        return text
    return _TWO_UNITS.sub(_surrogates, text)


def _surrogates(found: re.Match[str]) -> str:
    above = ord(found[0]) - 0x10000
    return chr(0xD800 + (above >> 10)) + chr(0xDC00 + (above & 0x3FF))


FIRST_BAD = 400
"""Resources with this status or a higher one are bad."""

_WEB = "http"


class ResourceCounts(NamedTuple):
    """Good and bad resources of a page; None for a crawl's if unknown."""

    crawl_good: int | None
    crawl_bad: int | None
    replay_good: int
    replay_bad: int

    @property
    def is_replayed(self) -> bool:
        """Whether playback has a good resource, or the crawl is not known to have any."""
        return self.replay_good > 0 or not (self.crawl_good or self.crawl_bad)


def resource_counts(crawl: PageInfo | None, played: PageRender) -> ResourceCounts:
    """Count a page's http and https URLs as Browsertrix does: bad from status 400.

    The last answer for a URL counts. In playback, URLs without an answer are not counted; in the
    crawl, URLs listed by the browser without one are good.
    """
    good, bad = _good_and_bad((one.url, one.status) for one in played.resources if one.status)
    if crawl is None:
        return ResourceCounts(None, None, good, bad)
    known = _good_and_bad((one.url, one.status) for one in crawl.resources)
    return ResourceCounts(*known, good, bad)


def _good_and_bad(resources: Iterable[tuple[str, int]]) -> tuple[int, int]:
    statuses = {url: status for url, status in resources if url.startswith(_WEB)}
    bad = sum(status >= FIRST_BAD for status in statuses.values())
    return len(statuses) - bad, bad


_Pixels = NDArray[np.uint8]

THRESHOLD = 0.1
"""How much colours may differ before pixels count as different: Browsertrix's option."""


HARDLY_DIFFERENT = 0.995
"""From this match on, structures count as equal: hashes of nearly empty pictures mean nothing."""

_HASH_BITS = 64  # larger hashes do not tolerate a shift by a line
_WHITE = (255, 255, 255, 255)


class ScreenshotMatch(NamedTuple):
    """Likeness of two screenshots: 1 is equal, 0 is nothing in common.

    `match` is the share of equal pixels. `structure` is the likeness of perceptual hashes (64
    bits): 1 - 2 x share of differing bits, at least 0, as half of the bits of unrelated pictures
    agree by chance. It tolerates a shift by a line or two, and changes of colour.
    """

    match: float
    structure: float


def screenshot_match(crawl: bytes, played: bytes) -> ScreenshotMatch:
    """Compare a crawl's screenshot with one from playback.

    If one is longer (a picture of the whole page), the rows that both have are compared; columns
    that only one has count as different. Raises FormatError for pictures that cannot be read or are
    too large.
    """
    first, second = _same_height(decoded(crawl), decoded(played))
    match = _equal_pixels(first, second)
    return ScreenshotMatch(match, 1.0 if match >= HARDLY_DIFFERENT else _structure(first, second))


def difference_image(crawl: bytes, played: bytes) -> bytes:
    """Return a PNG of the differences of two screenshots: red, yellow if only smoothing.

    The rest is white. Raises FormatError as `screenshot_match` does.
    """
    first, second = _same_height(decoded(crawl), decoded(played))
    width = max(first.width, second.width)
    drawn: _Pixels = np.zeros((first.height, width, 4), dtype=np.uint8)
    pixels = [np.asarray(_on_canvas(each, width)) for each in (first, second)]
    _differing(pixels[0], pixels[1], drawn)
    drawn[:, min(first.width, second.width) :] = (255, 0, 0, 255)
    written = BytesIO()
    Image.fromarray(drawn).convert("RGB").save(written, "PNG", compress_level=4)
    return written.getvalue()


def _same_height(first: Image.Image, second: Image.Image) -> tuple[Image.Image, Image.Image]:
    height = min(first.height, second.height)
    return _top(first, height), _top(second, height)


def _top(picture: Image.Image, height: int) -> Image.Image:
    return picture.crop((0, 0, picture.width, height)) if picture.height > height else picture


def _equal_pixels(first: Image.Image, second: Image.Image) -> float:
    width = min(first.width, second.width)
    pixels = [np.asarray(_on_canvas(each, width)) for each in (first, second)]
    different = _differing(pixels[0], pixels[1], np.zeros_like(pixels[0]))
    equal = width * first.height - different
    return equal / (max(first.width, second.width) * first.height)


def _differing(first: _Pixels, second: _Pixels, drawn: _Pixels) -> int:
    """Return how many pixels of equally large pictures differ, not counting smoothed edges."""
    options = pixelmatch.Options()
    options.threshold = THRESHOLD
    options.alpha = 0.0
    return int(pixelmatch.pixelmatch(first, second, output=drawn, options=options))


def _on_canvas(picture: Image.Image, width: int) -> Image.Image:
    """Return the left part of a picture on white, RGBA."""
    canvas = Image.new("RGBA", (width, picture.height), _WHITE)
    canvas.alpha_composite(picture.convert("RGBA").crop((0, 0, width, picture.height)))
    return canvas


def _structure(first: Image.Image, second: Image.Image) -> float:
    different = (perceptual_hash(first) ^ perceptual_hash(second)).bit_count()
    return max(0.0, 1.0 - 2 * different / _HASH_BITS)


class PageLikeness(NamedTuple):
    """Browsertrix's numbers, and the likeness of the structure of the screenshots.

    `problem` is why the screenshots could not be compared, "" if they were or are missing.
    """

    comparison: Comparison
    structure: float | None = None
    problem: str = ""


def page_likeness(
    played: PageRender, view: bytes = b"", text: str | None = None, info: PageInfo | None = None
) -> PageLikeness:
    """Compare a page in playback with the data of the crawl's browser.

    Missing data (`view` b"", None) is not compared. As in Browsertrix, the matches are 0 if no
    resource was replayed.
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
