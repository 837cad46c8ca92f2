"""Decoding of untrusted pictures within bounds of memory and time; scaling and hashes."""

import io
import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from nwx.errors import FormatError, UsageError
from nwx.extract.exif import PICTURE_FAILURES, open_picture

MOST_PIXELS = 40_000_000
"""Pixels of the largest picture decoded, four bytes each: a page of 1,920 by 20,800."""

MOST_SIDE = 100_000
"""The longest side of a decoded picture."""

_SAMPLES, _HASH_SIDE = 32, 8
_Rows = NDArray[np.float64]

_SCAN = b"\xff\xda"
_MOST_SCANS = 400
_MOST_SCANNED_PIXELS = 1_000_000_000


def decoded(payload: bytes, most_pixels: int = MOST_PIXELS) -> Image.Image:
    """Return a decoded picture, the first frame of an animation.

    Raises FormatError if it is damaged, truncated, of another format, or larger than `most_pixels`,
    which is checked before decoding.
    """
    image = opened(payload, most_pixels)
    try:
        image.load()
    except PICTURE_FAILURES as error:
        raise _broken(error) from error
    return image


def opened(payload: bytes, most_pixels: int = MOST_PIXELS) -> Image.Image:
    """Return a picture with only its header read; raises as `decoded` does."""
    try:
        image = open_picture(payload)
    except PICTURE_FAILURES as error:
        raise _broken(error) from error
    width, height = image.size
    if width * height > most_pixels or max(width, height) > MOST_SIDE:
        raise FormatError.translated(
            "the picture has %(width)s by %(height)s pixels, which is too large",
            width=width,
            height=height,
        )
    if image.format == "JPEG":
        _check_scans(payload, width * height)
    return image


def _check_scans(payload: bytes, pixels: int) -> None:
    """Raise FormatError for a JPEG with too many scans: each passes over all pixels."""
    scans = payload.count(_SCAN)
    if scans > _MOST_SCANS or scans * pixels > _MOST_SCANNED_PIXELS:
        raise FormatError.translated(
            "the picture has %(scans)s scans, which takes too long to decode", scans=scans
        )


def _broken(error: BaseException) -> FormatError:
    reason = str(error)[:200] or type(error).__name__
    return FormatError.translated("the picture cannot be decoded: %(reason)s", reason=reason)


_FORMATS = {"image/webp": "WEBP", "image/jpeg": "JPEG", "image/png": "PNG"}
_OPTIONS = {"WEBP": {"quality": 75, "method": 2}, "JPEG": {"quality": 80}, "PNG": {}}
_REDUCING_GAP = 2.0
_WHITE = (255, 255, 255)
_TRANSPARENT = ("LA", "PA", "RGBA", "RGBa", "La")


def scaled(
    payload: bytes,
    width: int,
    height: int,
    media_type: str = "image/webp",
    *,
    crop: bool = False,
) -> bytes:
    """Return a picture scaled down to fit into a box, never up, as WebP, JPEG or PNG.

    With `crop`, the part that exceeds the box is cut off at the bottom, as by the screen of a
    browser. For an animation, the first frame is used. Raises FormatError as
    `nwx.quality.images.decoded` does, and UsageError for another media type.
    """
    form = _FORMATS.get(media_type)
    if form is None:
        raise UsageError.translated(
            "%(media_type)s cannot be written; choose one of %(choices)s",
            media_type=repr(media_type),
            choices=", ".join(_FORMATS),
        )
    image = opened(payload, MOST_PIXELS)
    written = io.BytesIO()
    try:
        small = _plain(_fitted(image, width, height, crop=crop), form)
        small.save(written, form, **_OPTIONS[form])
    except PICTURE_FAILURES as error:
        reason = str(error)[:200] or type(error).__name__
        raise FormatError.translated(
            "the picture cannot be decoded: %(reason)s", reason=reason
        ) from error
    return written.getvalue()


def _fitted(image: Image.Image, width: int, height: int, *, crop: bool) -> Image.Image:
    if crop:
        wide, high = image.size
        shown = min(high, max(1, wide * height // width))
        image.draft("RGB", (width, max(1, high * width // wide)))
        wide_read, high_read = image.size
        image = image.crop((0, 0, wide_read, max(1, shown * high_read // high)))
    image.thumbnail((width, height), Image.Resampling.LANCZOS, reducing_gap=_REDUCING_GAP)
    return ImageOps.exif_transpose(image)


def _plain(image: Image.Image, form: str) -> Image.Image:
    """Return the bare pixels of a picture, in a mode that every browser shows."""
    if image.mode in _TRANSPARENT or "transparency" in image.info:
        image = image.convert("RGBA")
        if form == "JPEG":
            flat = Image.new("RGB", image.size, _WHITE)
            flat.paste(image, mask=image.getchannel("A"))
            image = flat
    elif image.mode != "RGB":
        image = image.convert("RGB")
    image.info = {}
    return image


def perceptual_hash(image: Image.Image) -> int:
    """Return a 64-bit hash that differs in few bits for images that look alike.

    Equal to the hash of `imagehash.phash`: which low frequencies of the discrete cosine transform
    of 32 x 32 grey pixels are above their median.
    """
    small = image.convert("L").resize((_SAMPLES, _SAMPLES), Image.Resampling.LANCZOS)
    columns = _cosine_transform(np.asarray(small, np.float64).T).T
    low = _cosine_transform(columns)[:_HASH_SIDE, :_HASH_SIDE]
    bits = np.packbits(low > np.median(low))
    return int.from_bytes(bits.tobytes(), "big")


def _cosine_transform(rows: _Rows) -> _Rows:
    """Return the discrete cosine transform (type II) of each row of `_SAMPLES` values.

    Each step follows pocketfft, which SciPy uses: in symmetric images half of the frequencies are 0
    except for rounding, which then decides the hash.
    """
    sums, differences = rows[:, 1:-1:2] + rows[:, 2::2], rows[:, 2::2] - rows[:, 1:-1:2]
    halves = np.empty((len(rows), _SAMPLES // 2 + 1), np.complex128)
    halves[:, 0], halves[:, -1] = 2 * rows[:, 0], 2 * rows[:, -1]
    halves[:, 1:-1] = sums + 1j * differences
    found: _Rows = np.fft.irfft(halves, _SAMPLES, norm="forward")
    low = np.arange(1, _SAMPLES // 2)
    high, cosines = _SAMPLES - low, _quarter_cosines()
    one = cosines[low - 1] * found[:, high] + cosines[high - 1] * found[:, low]
    other = cosines[low - 1] * found[:, low] - cosines[high - 1] * found[:, high]
    found[:, low], found[:, high] = 0.5 * (one + other), 0.5 * (one - other)
    found[:, _SAMPLES // 2] *= cosines[_SAMPLES // 2 - 1]
    return found


@cache
def _quarter_cosines() -> _Rows:
    """Return the cosines of the first quarter of a circle, as pocketfft rounds them.

    Each is the product of two points of the circle, with steps of 1 and of 16.
    """
    points = [_point(step % 16) * _point(step - step % 16) for step in range(1, _SAMPLES + 1)]
    return np.array([point.real for point in points])


def _point(step: int) -> complex:
    """Return the unit circle's point at `step`; a quarter has `_SAMPLES` steps."""
    if 2 * step < _SAMPLES:
        angle = step * math.pi / (2 * _SAMPLES)
        return complex(math.cos(angle), math.sin(angle))
    rest = (_SAMPLES - step) * math.pi / (2 * _SAMPLES)
    return complex(math.sin(rest), math.cos(rest))
