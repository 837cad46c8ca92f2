"""Pictures decoded within bounds of memory and time, whatever their bytes say."""

import io
import struct
import zlib

from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    GifImagePlugin,
    IcoImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    WebPImagePlugin,
)

from nwx.errors import ErrorText, FormatError

MOST_PIXELS = 40_000_000
"""So many pixels are decoded, four bytes each: a page of 1,920 by 20,800."""

MOST_SIDE = 100_000
"""The longest side of a picture that is decoded."""

_PLUGINS = (
    PngImagePlugin.PngImageFile,
    JpegImagePlugin.JpegImageFile,
    GifImagePlugin.GifImageFile,
    WebPImagePlugin.WebPImageFile,
    BmpImagePlugin.BmpImageFile,
    IcoImagePlugin.IcoImageFile,
    AvifImagePlugin.AvifImageFile,
)
"""What browsers show as pictures, but for SVG, which is a document with scripts."""

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
"""What Pillow is known to raise on broken pictures."""

_PREFIX_BYTES = 32
_SCAN = b"\xff\xda"
_MOST_SCANS = 400
_MOST_SCANNED_PIXELS = 1_000_000_000


def decoded(payload: bytes, most_pixels: int = MOST_PIXELS) -> Image.Image:
    """Return a picture, of an animation the first frame, with its pixels read.

    Raises FormatError for what is broken, cut off, of another format, or
    larger than `most_pixels`, which is seen before it is decoded.
    """
    image = opened(payload, most_pixels)
    try:
        image.load()
    except PICTURE_FAILURES as error:
        raise _broken(error) from error
    return image


def opened(payload: bytes, most_pixels: int = MOST_PIXELS) -> Image.Image:
    """Return a picture of which only the head was read; raises as `decoded` does."""
    try:
        image = _opened(payload)
    except PICTURE_FAILURES as error:
        raise _broken(error) from error
    width, height = image.size
    if width * height > most_pixels or max(width, height) > MOST_SIDE:
        raise FormatError(
            ErrorText(
                "the picture has %(width)s by %(height)s pixels, which is too large",
                width=width,
                height=height,
            )
        )
    if image.format == "JPEG":
        _check_scans(payload, width * height)
    return image


def _opened(payload: bytes) -> Image.Image:
    # Not by `Image.open`: it warns of pictures that are refused here without a warning.
    for plugin in _PLUGINS:
        form = str(plugin.format)
        open_picture, accepts = Image.OPEN[form]
        if accepts is None or accepts(payload[:_PREFIX_BYTES]) is True:
            return open_picture(io.BytesIO(payload), "")
    raise OSError("no format of pictures that browsers show")


def _check_scans(payload: bytes, pixels: int) -> None:
    """Raise FormatError for a JPEG that goes over its pixels too often: each scan does once."""
    scans = payload.count(_SCAN)
    if scans > _MOST_SCANS or scans * pixels > _MOST_SCANNED_PIXELS:
        raise FormatError(
            ErrorText(
                "the picture has %(scans)s scans, which takes too long to decode", scans=scans
            )
        )


def _broken(error: BaseException) -> FormatError:
    reason = str(error)[:200] or type(error).__name__
    return FormatError(ErrorText("the picture cannot be decoded: %(reason)s", reason=reason))
