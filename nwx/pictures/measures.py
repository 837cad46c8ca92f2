"""Measures of an image (size, main colours, hash), and reading of stored images and pages."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from nwx.engine.indices.picture_index import COLOURS
from nwx.errors import FormatError, SourceError, UsageError
from nwx.extract.exif import PICTURE_FAILURES, exif_of
from nwx.model import Capture
from nwx.pictures.page_images import PAGE_LIMITS, ImagesOfPage, images_of_page
from nwx.quality.images import opened, perceptual_hash
from nwx.quality.stored_blocks import MOST_IMAGE_BYTES, block_at
from nwx.values.http import NO_HEAD, charset_of, decode_body, response_head
from nwx.warc.sources import ArchiveSource

_SIDE = 128
_MOST_BYTES = 64 << 20
_COLOUR_SIDE = 48
_REDUCING_GAP = 2.0
_PLAIN_DEVIATION = 3.0
"""Standard deviation of greys from 0 to 255; hashes of plainer images are meaningless."""

_LEAST_SHARE = 0.15
_MOST_COLOURS = 3
_WHITE = (255, 255, 255, 255)

_DARK, _PALE, _LIGHT = 50, 36, 215
_BROWN_BELOW = 160
_PINK_SATURATION = 130
_HUES = (8, 30, 50, 117, 138, 181, 206, 244)
"""The ends of the hues in `_HUE_NAMES`, on a scale of 256."""

_HUE_NAMES = (*("red", "orange", "yellow", "green", "turquoise", "blue", "purple", "pink", "red"),)

_Pixels = NDArray[np.uint8]


class ImageMeasures(NamedTuple):
    """Width and height in pixels, perceptual hash (None for a plain area), and main colours.

    `latitude`, `longitude` and `taken` are from EXIF, None and "" without it.
    """

    width: int
    height: int
    hash: int | None
    colours: tuple[str, ...]
    latitude: float | None = None
    longitude: float | None = None
    taken: str = ""


def measured(payload: bytes) -> ImageMeasures:
    """Return the measures of an image, or of the first frame of an animation.

    Memory is bounded as in `nwx.quality.images`. Raises FormatError on an image that cannot be
    decoded, or is too large.
    """
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # about damaged EXIF
        return _measured(opened(payload))


def _measured(image: Image.Image) -> ImageMeasures:
    width, height = image.size
    try:
        image.draft("RGB", (_SIDE, _SIDE))
        image.thumbnail((_SIDE, _SIDE), Image.Resampling.LANCZOS, reducing_gap=_REDUCING_GAP)
        small = ImageOps.exif_transpose(image).convert("RGBA")
    except PICTURE_FAILURES as error:
        reason = str(error)[:200] or type(error).__name__
        raise FormatError.translated(
            "the picture cannot be decoded: %(reason)s", reason=reason
        ) from error
    return ImageMeasures(width, height, _hash(small), _colours(small), *exif_of(image))


def hash_of_file(file: Path) -> int:
    """Return the perceptual hash of an image file; raises UsageError on a plain area."""
    try:
        with file.open("rb") as opened_file:
            payload = opened_file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SourceError.translated(
            "%(path)s cannot be read: %(reason)s", path=file, reason=error
        ) from error
    if len(payload) > _MOST_BYTES:
        raise UsageError.translated(
            "%(path)s has more than %(size)s bytes", path=file, size=_MOST_BYTES
        )
    hash = measured(payload).hash
    if hash is None:
        raise UsageError.translated(
            "%(path)s is a uniform area; nothing is similar to it", path=file
        )
    return hash


def _hash(image: Image.Image) -> int | None:
    canvas = Image.new("RGBA", image.size, _WHITE)
    canvas.alpha_composite(image)
    grey = canvas.convert("L")
    if float(np.asarray(grey).std()) < _PLAIN_DEVIATION:
        return None
    return perceptual_hash(grey)


def _colours(image: Image.Image) -> tuple[str, ...]:
    """Return the names of the colours of large areas, the largest first."""
    image.thumbnail((_COLOUR_SIDE, _COLOUR_SIDE), Image.Resampling.BOX)
    seen = np.asarray(image.getchannel("A")) >= 128
    pixels: _Pixels = np.asarray(image.convert("RGB").convert("HSV"))[seen].astype(np.int16)
    if not len(pixels):
        return ()
    counts = np.bincount(_named(pixels), minlength=len(COLOURS))
    order = np.argsort(-counts, kind="stable")[:_MOST_COLOURS]
    least = _LEAST_SHARE * len(pixels)
    return tuple(COLOURS[number] for number in order.tolist() if counts[number] >= least)


def _named(pixels: _Pixels) -> NDArray[np.intp]:
    """Return the indices in COLOURS of pixels (hue, saturation and value)."""
    hue, saturation, value = pixels.T
    numbers = {name: number for number, name in enumerate(COLOURS)}
    hues = np.array([numbers[name] for name in _HUE_NAMES])
    named: NDArray[np.intp] = hues[np.searchsorted(_HUES, hue, side="right")]
    is_red = named == numbers["red"]
    is_warm = is_red | (named == numbers["orange"])
    named[(named == numbers["orange"]) & (value < _BROWN_BELOW)] = numbers["brown"]
    named[is_red & (saturation < _PINK_SATURATION) & (value > _BROWN_BELOW)] = numbers["pink"]
    named[is_warm & (saturation < _PINK_SATURATION) & (value <= _BROWN_BELOW)] = numbers["brown"]
    named[saturation < _PALE] = numbers["grey"]
    named[(saturation < _PALE) & (value > _LIGHT)] = numbers["white"]
    named[value < _DARK] = numbers["black"]
    return named


class PlacedPayload(NamedTuple):
    """A payload without its content codings, and the charset of its HTTP head."""

    data: bytes
    charset: str


def payload_at(path: str, capture: Capture, limit: int) -> PlacedPayload:
    """Return the payload of a capture whose file is at `path`.

    Raises SourceError if the file cannot be read, and FormatError if it has another or a damaged
    record at the offset, or a payload longer than `limit`.
    """
    member = capture.source_file.partition("#")[2]
    source = ArchiveSource(capture.source_file, path, None, member)
    offset = capture.source_file_offset
    head, block, _ = block_at(source, offset, limit, lambda uri: uri == capture.url)
    http = response_head(block) if head.kind == "response" else NO_HEAD
    decoded = decode_body(http, memoryview(block)[http.size :], limit)
    if decoded.cut:
        raise FormatError.translated("the payload has more than %(limit)s bytes", limit=limit)
    return PlacedPayload(bytes(decoded.data), charset_of(http.text(b"content-type")))


@dataclass(frozen=True, slots=True)
class MeasuredImage:
    """Measures of an image, and its length in bytes."""

    width: int
    height: int
    hash: int | None
    colours: tuple[str, ...]
    latitude: float | None
    longitude: float | None
    taken: str
    content_length: int


ReadAnswer = MeasuredImage | ImagesOfPage | str
"""An image, a page, or a message why a capture cannot be read."""


def read_capture(path: str, capture: Capture, is_page: bool) -> ReadAnswer:
    """Return the content of a capture of an image or a page; its file is at `path`."""
    # Imported here, so that Pillow is loaded only for images.

    try:
        if is_page:
            page = payload_at(path, capture, PAGE_LIMITS.bytes)
            return images_of_page(page.data, capture.url, capture.content_type, page.charset)
        image = payload_at(path, capture, MOST_IMAGE_BYTES).data
        return MeasuredImage(*measured(image), len(image))
    except (FormatError, SourceError) as error:
        return str(error)
