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
    ImageOps,
    JpegImagePlugin,
    PngImagePlugin,
    WebPImagePlugin,
)

from nwx.errors import ErrorText, FormatError, UsageError

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

    With `crop` what is too long for the box is cut off at the bottom, as
    the screen of a browser does with a page. Of an animation it is the
    first frame. Raises FormatError as `nwx.quality.images.decoded`
    does, and UsageError for another media type.
    """
    form = _FORMATS.get(media_type)
    if form is None:
        raise UsageError(
            ErrorText(
                "%(media_type)s is not written; choose one of %(choices)s",
                media_type=repr(media_type),
                choices=", ".join(_FORMATS),
            )
        )
    image = opened(payload, MOST_PIXELS)
    written = io.BytesIO()
    try:
        small = _plain(_fitted(image, width, height, crop=crop), form)
        small.save(written, form, **_OPTIONS[form])
    except PICTURE_FAILURES as error:
        reason = str(error)[:200] or type(error).__name__
        raise FormatError(
            ErrorText("the picture cannot be decoded: %(reason)s", reason=reason)
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
