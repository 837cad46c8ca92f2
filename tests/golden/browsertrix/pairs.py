"""Pairs of images, texts and resource lists on which comparisons must equal Browsertrix's.

Images are computed from integers only, so that they are the same on every machine and with every
library version.
"""

import hashlib
import io
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]
"""Height, width, and red, green, blue and alpha."""

WIDTH, HEIGHT = 120, 90


def png(pixels: Pixels) -> bytes:
    """Return the PNG of pixels."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def pictures() -> dict[str, tuple[Pixels, Pixels]]:
    """Return pairs of images by the kind of difference."""
    page, noise = _page(), _noise("a")
    return {
        "nothing": (page, page),
        "one pixel": (page, _painted(page, 30, 31, 20, 21, (255, 0, 0, 255))),
        "a block": (page, _painted(page, 10, 40, 10, 60, (250, 240, 20, 255))),
        "all": (_plain(0), _plain(255)),
        "corners": (_plain(255), _corners(_plain(255))),
        "one line lower": (page, np.roll(page, 1, axis=0)),
        "ten lines lower": (page, np.roll(page, 10, axis=0)),
        "one pixel to the right": (page, np.roll(page, 1, axis=1)),
        "noise": (noise, _noise("b")),
        "little noise": (page, _noisy(page, 6)),
        "more noise": (page, _noisy(page, 40)),
        "shades below the threshold": (_plain(120), _plain(128)),
        "a ramp of shades": (_plain(128), _ramp()),
        "colours of equal brightness": (_plain(90, 90, 90), _plain(140, 64, 93)),
        "a smooth line that moved": (_diagonal(0), _diagonal(2)),
        "a smooth line and a hard one": (_diagonal(0), _hard(_diagonal(0))),
        "a smooth disc and a hard one": (_disc(4), _hard(_disc(4))),
        "a disc that moved by a quarter": (_disc(4), _disc(5)),
        "half transparent": (page, _alpha(page, 128)),
        "transparent and white": (_alpha(_plain(0), 0), _plain(255)),
        "transparent both": (_alpha(noise, 90), _alpha(_noise("b"), 200)),
        "smooth edges on nothing": (_cut_out(_disc(4)), _noisy(_ramp(), 20)),
        "one column": (noise[:, :1], _noise("b")[:, :1]),
        "one row": (noise[:1], _noise("b")[:1]),
        "a single pixel": (noise[:1, :1], _noise("b")[:1, :1]),
        "an image missing": (_with_image(page), page),
    }


def _plain(red: int, green: int = -1, blue: int = -1) -> Pixels:
    pixels = np.full((HEIGHT, WIDTH, 4), 255, dtype=np.uint8)
    pixels[..., :3] = (red, red if green < 0 else green, red if blue < 0 else blue)
    return pixels


def _bytes(seed: str, size: int) -> NDArray[np.uint8]:
    return np.frombuffer(hashlib.shake_128(seed.encode()).digest(size), dtype=np.uint8)


def _noise(seed: str) -> Pixels:
    pixels = _bytes(seed, HEIGHT * WIDTH * 4).reshape(HEIGHT, WIDTH, 4).copy()
    pixels[..., 3] = 255
    return pixels


def _noisy(pixels: Pixels, most: int) -> Pixels:
    moved = pixels.astype(int)
    moved[..., :3] += _noise("noisy")[..., :3].astype(int) % (2 * most + 1) - most
    return np.clip(moved, 0, 255).astype(np.uint8)


def _painted(
    pixels: Pixels, top: int, bottom: int, left: int, right: int, colour: object
) -> Pixels:
    painted = pixels.copy()
    painted[top:bottom, left:right] = colour
    return painted


def _page() -> Pixels:
    """Return an image like a page: a heading, and lines of words in grey with smooth edges."""
    page = _painted(_plain(255), 4, 14, 6, 80, (30, 60, 120, 255))
    words = _bytes("words", 400)
    for line, top in enumerate(range(20, HEIGHT - 6, 6)):
        left = 6
        for word in words[line * 20 : line * 20 + 20]:
            right = left + 2 + int(word) % 9
            if right < WIDTH - 6:
                page[top : top + 3, left:right, :3] = 40
                page[top + 3, left:right, :3] = 150
                page[top : top + 3, right, :3] = 100 + int(word) % 100
            left = right + 3
    return page


def _with_image(pixels: Pixels) -> Pixels:
    painted = pixels.copy()
    painted[30:70, 40:100] = _noise("image")[30:70, 40:100]
    return painted


def _ramp() -> Pixels:
    ramp = _plain(0)
    ramp[..., :3] = (np.arange(WIDTH) * 255 // (WIDTH - 1)).astype(np.uint8)[None, :, None]
    return ramp


def _corners(pixels: Pixels) -> Pixels:
    marked = pixels.copy()
    for row in (0, -1):
        for column in (0, -1):
            marked[row, column] = (0, 0, 0, 255)
    marked[HEIGHT // 2, 0] = marked[0, WIDTH // 2] = (0, 90, 0, 255)
    return marked


def _covered(inside: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]) -> Pixels:
    """Return a black shape with smooth edges: 16 sample points per pixel."""
    rows, columns = np.mgrid[0 : HEIGHT * 4, 0 : WIDTH * 4]
    points = inside(rows, columns).reshape(HEIGHT, 4, WIDTH, 4).sum(axis=(1, 3))
    pixels = _plain(255)
    pixels[..., :3] = (255 - points * 255 // 16).astype(np.uint8)[..., None]
    return pixels


def _diagonal(moved: int) -> Pixels:
    return _covered(lambda row, column: abs(3 * row - 2 * column + moved) < 14)


def _disc(moved: int) -> Pixels:
    return _covered(lambda row, column: (row - 180) ** 2 + (column - 240 - moved) ** 2 < 120**2)


def _hard(pixels: Pixels) -> Pixels:
    hard = pixels.copy()
    hard[..., :3] = np.where(pixels[..., :3] < 128, 0, 255)
    return hard


def _alpha(pixels: Pixels, alpha: int) -> Pixels:
    seen = pixels.copy()
    seen[..., 3] = alpha
    return seen


def _cut_out(pixels: Pixels) -> Pixels:
    """Return the image with light parts made transparent, like screenshots without a background."""
    seen = pixels.copy()
    seen[..., 3] = 255 - pixels[..., 0]
    seen[..., :3] = _ramp()[..., :3]
    return seen


_LINES = "".join(
    f"{number}: {hashlib.sha256(str(number).encode()).hexdigest()}\n" for number in range(60)
)

TEXTS: Mapping[str, tuple[str, str]] = {
    "both empty": ("", ""),
    "one empty": ("", "a word"),
    "equal": ("the same", "the same"),
    "one letter": ("kitten", "mitten"),
    "three edits": ("kitten", "sitting"),
    "reversed": ("lantern", "nretnal"),
    "swapped": ("ab cd ef", "ba dc fe"),
    "nothing in common": ("aaaa", "bbbbbb"),
    "a blank more": ("a  word\n", "a word\n"),
    "the end of lines": ("one\r\ntwo\r\n", "one\ntwo\n"),
    "accents, composed or not": ("caf\u00e9", "cafe\u0301"),
    "outside of the basic plane": ("a 🦜 on a 🏮", "a 🦉 on a mast"),
    "only outside of the basic plane": ("🦜🦜🦜", "🦉"),
    "Chinese": ("灯塔守护人的日志", "灯塔看守人日记"),
    "a line missing": (_LINES, _LINES.replace(_LINES.splitlines()[30] + "\n", "")),
    "a third missing": (_LINES, _LINES[: len(_LINES) * 2 // 3]),
    "other lines": (_LINES, "".join(reversed(_LINES.splitlines(keepends=True)))),
    "a clock": ("It is 12:31:07 in Lantern. " + _LINES, "It is 09:12:44 in Lantern. " + _LINES),
}
"""Pairs of texts by the kind of difference."""

_PAGE = {"http://a.example/": 200, "http://a.example/style.css": 200, "https://b.example/x.js": 304}

RESOURCES: Mapping[str, tuple[Mapping[str, int], Mapping[str, int]]] = {
    "all played": (_PAGE, _PAGE),
    "one missing": (_PAGE, {**_PAGE, "http://a.example/style.css": 404}),
    "bad in the crawl too": ({**_PAGE, "http://a.example/dead": 404}, _PAGE),
    "an error of the server": (_PAGE, {**_PAGE, "http://a.example/style.css": 503}),
    "without an answer": ({**_PAGE, "http://a.example/none": 0}, _PAGE),
    "a redirect": ({**_PAGE, "http://a.example/moved": 301}, _PAGE),
    "not by http": ({**_PAGE, "data:image/png;base64,AA": 200, "blob:x": 500}, _PAGE),
    "one more": (_PAGE, {**_PAGE, "http://ads.example/1": 200}),
    "not played at all": (_PAGE, {"http://a.example/": 404}),
    "nothing": ({}, {}),
}
"""Statuses by URL, in the crawl and in playback, by the kind of difference."""
