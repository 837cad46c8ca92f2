"""How alike two screenshots of a page are: pixel by pixel as Browsertrix, and in structure."""

from io import BytesIO
from typing import NamedTuple

import numpy as np
import pybind11_pixelmatch as pixelmatch
from numpy.typing import NDArray
from PIL import Image

from nwx.quality.measures.blended_pixels import differing_pixels, has_transparency
from nwx.quality.pictures.decoder import decoded

THRESHOLD = 0.1
"""How much colours may differ before pixels count as different: Browsertrix's option."""

HASH_SIZE = 8
"""The perceptual hash has so many bits a side: larger ones do not bear a shift of a line."""

HARDLY_DIFFERENT = 0.995
"""From this match on, structures are equal: hashes of nearly empty pictures tell nothing."""

_HASH_BITS = HASH_SIZE * HASH_SIZE
_WHITE = (255, 255, 255, 255)

_Pixels = NDArray[np.uint8]


class ScreenshotMatch(NamedTuple):
    """How alike two screenshots are: 1 is equal, 0 is nothing in common.

    `match` is the share of equal pixels. `structure` is the likeness of
    perceptual hashes (64 bits): 1 - 2 x share of bits that differ, at least
    0, as half of the bits of unrelated pictures agree by chance. It bears a
    shift by a line or two, and changes of colour.
    """

    match: float
    structure: float


def screenshot_match(crawl: bytes, played: bytes) -> ScreenshotMatch:
    """Compare a crawl's screenshot with one from playback.

    Where one is longer (a picture of the whole page), the rows that both
    have are compared; columns that only one has count as different. Raises
    FormatError for pictures that cannot be read or are too large.
    """
    first, second = _same_height(decoded(crawl), decoded(played))
    match = _equal_pixels(first, second)
    return ScreenshotMatch(match, 1.0 if match >= HARDLY_DIFFERENT else _structure(first, second))


def difference_image(crawl: bytes, played: bytes) -> bytes:
    """Return a PNG with red pixels where two screenshots differ, yellow where only in smoothing.

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
    pixels = [_left_part(each, width) for each in (first, second)]
    if any(map(has_transparency, pixels)):
        different = differing_pixels(pixels[0], pixels[1], THRESHOLD)
    else:
        different = _differing(pixels[0], pixels[1], np.zeros_like(pixels[0]))
    equal = width * first.height - different
    return equal / (max(first.width, second.width) * first.height)


def _left_part(picture: Image.Image, width: int) -> _Pixels:
    return np.asarray(picture.convert("RGBA").crop((0, 0, width, picture.height)))


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
    # Imported here: only checks need what comes with a browser.
    from imagehash import phash

    different = int(phash(first, HASH_SIZE) - phash(second, HASH_SIZE))
    return max(0.0, 1.0 - 2 * different / _HASH_BITS)
