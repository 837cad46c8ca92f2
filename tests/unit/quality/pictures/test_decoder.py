"""Unit tests of pictures decoded within bounds."""

import io
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from nwx.errors import FormatError
from nwx.quality.pictures.decoder import MOST_PIXELS, decoded
from tests.rendering.hostile_site import broken_pictures
from tests.renders import picture

FORMS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF")


def chunk(name: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int, height: int, *chunks: bytes) -> bytes:
    """Return a PNG of grey pixels that has no rows."""
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
