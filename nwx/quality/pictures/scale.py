"""Pictures scaled down, for pages of nwx: without what cameras and editors write beside them."""

import io

from PIL import Image, ImageOps

from nwx.errors import ErrorText, FormatError, UsageError
from nwx.quality.pictures.decoder import MOST_PIXELS, PICTURE_FAILURES, opened

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
    first frame. Raises FormatError as `nwx.quality.pictures.decoder.decoded`
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
