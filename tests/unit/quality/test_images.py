"""Images decoded within limits."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from nwx.errors import FormatError, UsageError
from nwx.quality.images import MOST_PIXELS, decoded, perceptual_hash, scaled
from tests.rendering.hostile_site import broken_pictures
from tests.renders import picture

FORMS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF")


def chunk(name: bytes, data: bytes) -> bytes:
    """Return a PNG chunk."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int, height: int, *chunks: bytes) -> bytes:
    """Return a greyscale PNG without rows."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunks) + chunk(b"IEND", b"")


@pytest.mark.parametrize("form", FORMS)
def test_formats(form: str) -> None:
    image = decoded(picture(form, (64, 48)))
    assert image.size == (64, 48)
    assert image.format == form


@pytest.mark.parametrize("name", broken_pictures())
def test_broken_pictures(name: str) -> None:
    with pytest.raises(FormatError):
        decoded(broken_pictures()[name])


@pytest.mark.parametrize(
    ("width", "height"),
    [(1, 100_000_000), (100_000_000, 1), (1, 100_001), (MOST_PIXELS // 100 + 1, 100)],
)
def test_pictures_that_are_too_large(width: int, height: int) -> None:
    with pytest.raises(FormatError, match="too large"):
        decoded(png(width, height))


def test_the_limit_of_pixels() -> None:
    assert decoded(picture(size=(20, 10)), 200).size == (20, 10)
    with pytest.raises(FormatError, match="20 by 10 pixels"):
        decoded(picture(size=(20, 10)), 199)


@pytest.mark.parametrize("name", [b"zTXt", b"iTXt", b"iCCP"])
def test_bombs_in_the_chunks_of_a_png(name: bytes) -> None:
    packed = zlib.compress(b"\0" * (64 << 20), 9)
    middle = b"\0\x01\0\0\0" if name == b"iTXt" else b"\0\0"
    bomb = chunk(name, b"a" + middle + packed)
    with pytest.raises(FormatError):
        decoded(png(9, 9, *[bomb] * 4))


def test_a_jpeg_with_very_many_scans() -> None:
    image = Image.new("L", (800, 800))
    written = io.BytesIO()
    image.save(written, "JPEG", progressive=True)
    whole = written.getvalue()
    assert decoded(whole).size == (800, 800)
    start = whole.rindex(b"\xff\xda")
    with pytest.raises(FormatError, match="scans"):
        decoded(whole[:start] + whole[start:-2] * 2_000 + whole[-2:])


def test_the_first_frame_of_an_animation() -> None:
    frames = [Image.new("RGB", (30, 20), colour) for colour in ("red", "green", "blue")]
    for form in ("GIF", "WEBP", "PNG"):
        written = io.BytesIO()
        frames[0].save(written, form, save_all=True, append_images=frames[1:])
        red, green, _ = decoded(written.getvalue()).convert("RGB").getpixel((5, 5))
        assert red > 200 > 50 > green


@given(st.sampled_from(FORMS), st.data())
def test_pictures_with_any_bytes_changed(form: str, data: st.DataObject) -> None:
    payload = bytearray(picture(form, (16, 12)))
    for _ in range(data.draw(st.integers(1, 8))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert decoded(bytes(payload), 10_000).size
    except FormatError:
        return


def opened(payload: bytes) -> Image.Image:
    """Return a scaled image."""
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
    exif[0x0112] = 6  # rotated by 90 degrees
    exif[0x010E] = "a secret"
    written = io.BytesIO()
    image.save(written, "JPEG", exif=exif, comment=b"a secret", icc_profile=b"a secret")
    small = scaled(written.getvalue(), 20, 20)
    assert b"secret" not in small
    assert opened(small).size == (15, 20)


@pytest.mark.parametrize("name", broken_pictures())
def test_broken_pictures_of_scale(name: str) -> None:
    with pytest.raises(FormatError):
        scaled(broken_pictures()[name], 320, 200, crop=True)


def test_other_media_types() -> None:
    with pytest.raises(UsageError, match="image/gif"):
        scaled(picture(), 320, 200, "image/gif")


def noise(seed: int) -> Image.Image:
    """Return an image of noise; some are symmetric, so that rounding decides the hash."""
    pixels = np.random.default_rng(seed).integers(0, 256, (48, 64), dtype=np.uint8)
    if seed % 2:
        pixels = np.minimum(pixels, pixels[:, ::-1])
    if seed % 3 == 0:
        pixels = np.minimum(pixels, pixels[::-1])
    return Image.fromarray(pixels)


def test_perceptual_hashes_are_those_of_imagehash() -> None:
    """Recorded from imagehash 4.3.2 with SciPy 1.17, so that stored hashes remain valid."""
    assert [perceptual_hash(noise(seed)) for seed in range(8)] == [
        0x9B00A400F1001100,
        0x8A80082002808A0A,
        0xAD57CEC1B41C35A2,
        0x88002A0000000A00,
        0xE7C718E28F575A04,
        0x822A08A22828222A,
        0xD8009B007E001000,
        0xA2000A002AA08A20,
    ]
