"""Pixels that differ between pictures with transparent parts, as pixelmatch counts them.

Where a page has no background, its screenshot is transparent there, and
letters have half transparent edges. pixelmatch blends these with white in
floating point; the library that compares opaque pictures rounds to whole
numbers on the way, which gives other counts by a few pixels.

Lines follow pixelmatch 5.3 (index.js), which Browsertrix uses: `colorDelta`,
`antialiased`, `hasManySiblings`.
"""

import numpy as np
from numpy.typing import NDArray

_Pixels = NDArray[np.uint8]
_Floats = NDArray[np.float64]
_Flags = NDArray[np.bool_]
_Places = NDArray[np.int64]

_LARGEST_DELTA = 35_215.0
_Y = (0.29889531, 0.58662247, 0.11448223)
_I = (0.59597799, -0.27417610, -0.32180189)
_Q = (0.21147017, -0.52261711, 0.31114694)
_AROUND = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
"""The pixels around one, x before y, in pixelmatch's order: the first of equals counts."""

_MOST_EQUAL = 2


def has_transparency(pixels: _Pixels) -> bool:
    """Tell whether any pixel is not opaque."""
    return bool((pixels[..., 3] < 255).any())


def differing_pixels(first: _Pixels, second: _Pixels, threshold: float) -> int:
    """Return how many pixels differ, of pictures of one size; smoothed edges do not count."""
    words = _words(first), _words(second)
    places = np.flatnonzero(words[0] != words[1])
    colours = _blended(first.reshape(-1, 4)[places]), _blended(second.reshape(-1, 4)[places])
    places = places[_deltas(*colours) > _LARGEST_DELTA * threshold * threshold]
    if not places.size:
        return 0
    siblings = _with_siblings(words[0]), _with_siblings(words[1])
    both = (siblings[0] & siblings[1]).ravel()
    smooth = _smoothed(first, places, both) | _smoothed(second, places, both)
    return int(places.size - smooth.sum())


def _words(pixels: _Pixels) -> NDArray[np.uint32]:
    """Return each pixel as one number."""
    return np.ascontiguousarray(pixels).view(np.uint32).reshape(pixels.shape[:2])


def _blended(pixels: _Pixels) -> _Floats:
    """Return red, green and blue on white."""
    alpha = pixels[:, 3:].astype(np.float64) / 255
    colours = pixels[:, :3].astype(np.float64)
    return np.where(pixels[:, 3:] < 255, 255 + (colours - 255) * alpha, colours)


def _weighed(colours: _Floats, weights: tuple[float, float, float]) -> _Floats:
    # In this order, as sums of floating numbers depend on it.
    found: _Floats = colours[:, 0] * weights[0] + colours[:, 1] * weights[1]
    return found + colours[:, 2] * weights[2]


def _deltas(first: _Floats, second: _Floats) -> _Floats:
    """Return how far colours are apart as people see them (YIQ), squared."""
    y, i, q = (_weighed(first, each) - _weighed(second, each) for each in (_Y, _I, _Q))
    return 0.5053 * y * y + 0.299 * i * i + 0.1957 * q * q


def _with_siblings(words: NDArray[np.uint32]) -> _Flags:
    """Tell for each pixel whether more than two around it have its colour; an edge counts one."""
    height, width = words.shape
    equal = np.zeros(words.shape, np.uint8)
    equal[[0, -1]] = 1
    equal[:, [0, -1]] = 1
    for x, y in _AROUND:
        here = (slice(max(0, -y), height - max(0, y)), slice(max(0, -x), width - max(0, x)))
        there = (slice(max(0, y), height + min(0, y)), slice(max(0, x), width + min(0, x)))
        equal[here] += words[here] == words[there]
    return equal > _MOST_EQUAL


def _smoothed(pixels: _Pixels, places: _Places, with_siblings: _Flags) -> _Flags:
    """Tell for each place whether it is likely a smoothed edge.

    It is where the darkest or the brightest pixel around it has many of its
    colour around in both pictures.
    """
    height, width = pixels.shape[:2]
    colours = pixels.reshape(-1, 4)
    light = _weighed(_blended(colours[places]), _Y)
    rows, columns = np.divmod(places, width)
    edge = (rows == 0) | (rows == height - 1) | (columns == 0) | (columns == width - 1)
    zeroes = edge.astype(np.int64)
    lowest, highest = np.zeros(places.size), np.zeros(places.size)
    darkest, brightest = places.copy(), places.copy()
    for x, y in _AROUND:
        inside = _is_below(rows + y, height) & _is_below(columns + x, width)
        around = np.where(inside, places + y * width + x, places)
        delta = light - _weighed(_blended(colours[around]), _Y)
        zeroes += inside & (delta == 0)
        darkest = np.where(delta < lowest, around, darkest)
        brightest = np.where(delta > highest, around, brightest)
        lowest, highest = np.minimum(lowest, delta), np.maximum(highest, delta)
    is_slope = (zeroes <= _MOST_EQUAL) & (lowest < 0) & (highest > 0)
    found: _Flags = is_slope & (with_siblings[darkest] | with_siblings[brightest])
    return found


def _is_below(numbers: _Places, end: int) -> _Flags:
    return (numbers >= 0) & (numbers < end)
