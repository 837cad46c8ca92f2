"""Opening pictures by their header, and the place and time in their EXIF data."""

import io
import struct
import warnings
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    ExifTags,
    GifImagePlugin,
    IcoImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    WebPImagePlugin,
)

_MOST_EXIF_BYTES = 1 << 20
_PREFIX_BYTES = 32
_PLUGINS = (
    PngImagePlugin.PngImageFile,
    JpegImagePlugin.JpegImageFile,
    GifImagePlugin.GifImageFile,
    WebPImagePlugin.WebPImageFile,
    BmpImagePlugin.BmpImageFile,
    IcoImagePlugin.IcoImageFile,
    AvifImagePlugin.AvifImageFile,
)
"""The picture formats that browsers show, except SVG, which is a document with scripts."""

PICTURE_FAILURES = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    EOFError,
    MemoryError,
    RuntimeError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)
"""Exceptions that Pillow is known to raise on broken pictures."""


def open_picture(payload: bytes) -> Image.Image:
    """Return a picture with only its header read; raises one of PICTURE_FAILURES."""
    # Not with `Image.open`: it warns about pictures that other code refuses without a warning.
    for plugin in _PLUGINS:
        form = str(plugin.format)
        open_picture, accepts = Image.OPEN[form]
        if accepts is None or accepts(payload[:_PREFIX_BYTES]) is True:
            return open_picture(io.BytesIO(payload), "")
    raise OSError("not a picture format that browsers display")


def exif_of(image: Image.Image) -> tuple[float | None, float | None, str]:
    """Return latitude, longitude and time from EXIF; None and "" for implausible values."""
    if len(image.info.get("exif") or b"") > _MOST_EXIF_BYTES:
        return None, None, ""
    try:
        exif = image.getexif()
        place, details = exif.get_ifd(ExifTags.IFD.GPSInfo), exif.get_ifd(ExifTags.IFD.Exif)
    except PICTURE_FAILURES:
        return None, None, ""
    latitude = _degrees(place, ExifTags.GPS.GPSLatitude, "NS", 90)
    longitude = _degrees(place, ExifTags.GPS.GPSLongitude, "EW", 180)
    taken = _taken(details.get(ExifTags.Base.DateTimeOriginal))
    if latitude is None or longitude is None or latitude == longitude == 0:
        return None, None, taken  # cameras without a fix write 0, 0
    return latitude, longitude, taken


def _degrees(place: Mapping[int, Any], tag: int, signs: str, most: int) -> float | None:
    """Return degrees, minutes and seconds as a number; the preceding tag has the hemisphere."""
    try:
        sign = signs.index(str(place[tag - 1]).strip("\0 ").upper()[:1] or "-")
        degrees, minutes, seconds = map(float, place[tag])
    except PICTURE_FAILURES:
        return None
    found = degrees + minutes / 60 + seconds / 3600
    is_angle = degrees >= 0 and 0 <= minutes < 60 and 0 <= seconds <= 60 and found <= most
    return round(-found if sign else found, 6) if is_angle else None


def _taken(text: object) -> str:
    """Return the time of `2014:03:25 12:17:32` as 14 digits, "" for anything else."""
    try:
        moment = datetime.strptime(str(text).strip("\0 ")[:19], "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return ""
    return f"{moment:%Y%m%d%H%M%S}".zfill(14)


def exif_of_payload(payload: bytes) -> tuple[float | None, float | None, str]:
    """Return the result of `exif_of` for a picture; empty if it cannot be opened."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of damaged EXIF
        try:
            return exif_of(open_picture(payload))
        except PICTURE_FAILURES:
            return None, None, ""
