"""Unit tests of pictures scaled down."""

import io

import pytest
from PIL import Image

from nwx.errors import FormatError, UsageError
from nwx.quality.pictures.scale import scaled
from tests.rendering.hostile_site import broken_pictures
from tests.renders import picture


def opened(payload: bytes) -> Image.Image:
    """Return a picture that was scaled."""
    return Image.open(io.BytesIO(payload))


@pytest.mark.parametrize("media_type", ["image/webp", "image/jpeg", "image/png"])
@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_pictures_fit_into_a_box(form: str, media_type: str) -> None:
    small = opened(scaled(picture(form, (640, 400)), 320, 320, media_type))
    assert small.size == (320, 200)
    assert Image.MIME[small.format or ""] == media_type


def test_small_pictures_stay_as_large_as_they_are() -> None:
    assert opened(scaled(picture(size=(64, 40)), 320, 200)).size == (64, 40)
    assert opened(scaled(picture(size=(1, 1)), 320, 200, crop=True)).size == (1, 1)


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_a_long_page_is_cut_off_at_the_bottom(form: str) -> None:
    page = Image.new("RGB", (640, 4000), "blue")
    page.paste("red", (0, 0, 640, 400))
    written = io.BytesIO()
    page.save(written, form)
    small = opened(scaled(written.getvalue(), 320, 200, crop=True)).convert("RGB")
    assert small.size == (320, 200)
    for place in ((5, 5), (160, 190)):
        red, _, blue = small.getpixel(place)
        assert red > 200 > 60 > blue
    assert opened(scaled(written.getvalue(), 320, 200)).size == (32, 200)


def test_pictures_that_are_all_height() -> None:
    assert opened(scaled(picture(size=(1, 90_000)), 320, 200)).size == (1, 200)
    assert opened(scaled(picture(size=(90_000, 1)), 320, 200, crop=True)).size == (320, 1)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16"])
def test_all_modes(mode: str) -> None:
    written = io.BytesIO()
    Image.new(mode, (40, 30)).save(written, "JPEG" if mode == "CMYK" else "PNG")
    for media_type in ("image/webp", "image/jpeg"):
        assert opened(scaled(written.getvalue(), 20, 20, media_type)).size == (20, 15)


def test_what_is_transparent_is_white_without_transparency() -> None:
    written = io.BytesIO()
    Image.new("RGBA", (40, 30), (0, 0, 0, 0)).save(written, "PNG")
    assert opened(scaled(written.getvalue(), 20, 20, "image/jpeg")).getpixel((9, 9)) == (255,) * 3
    assert opened(scaled(written.getvalue(), 20, 20)).getpixel((9, 9))[3] == 0


def test_nothing_but_pixels_is_written() -> None:
    image = Image.new("RGB", (40, 30))
    exif = Image.Exif()
    exif[0x0112] = 6  # on its side
    exif[0x010E] = "a secret"
    written = io.BytesIO()
    image.save(written, "JPEG", exif=exif, comment=b"a secret", icc_profile=b"a secret")
    small = scaled(written.getvalue(), 20, 20)
    assert b"secret" not in small
    assert opened(small).size == (15, 20)


@pytest.mark.parametrize("name", broken_pictures())
def test_broken_pictures(name: str) -> None:
    with pytest.raises(FormatError):
        scaled(broken_pictures()[name], 320, 200, crop=True)


def test_other_media_types() -> None:
    with pytest.raises(UsageError, match="image/gif"):
        scaled(picture(), 320, 200, "image/gif")
