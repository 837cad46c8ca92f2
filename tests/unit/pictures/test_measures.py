"""The measures of images."""

import io

import pytest
from PIL import Image

from nwx.errors import FormatError
from nwx.pictures.measures import measured
from tests.pictured import drawing


def _area(colour: tuple[int, ...], mode: str = "RGB") -> bytes:
    written = io.BytesIO()
    Image.new(mode, (90, 30), colour).save(written, "PNG")
    return written.getvalue()


def test_size_and_main_colours() -> None:
    found = measured(drawing())
    assert (found.width, found.height) == (400, 300)
    assert found.colours == ("blue", "white")


def test_like_images_have_like_hashes_whatever_their_size_and_format() -> None:
    hashes = [measured(one).hash for one in (drawing(), drawing("JPEG", (1_200, 900)))]
    other = measured(drawing(turn=1)).hash
    assert None not in (*hashes, other)
    assert (hashes[0] ^ hashes[1]).bit_count() <= 4  # type: ignore[operator]
    assert (hashes[0] ^ other).bit_count() > 10  # type: ignore[operator]


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ((250, 250, 250), "white"),
        ((5, 5, 5), "black"),
        ((128, 128, 128), "grey"),
        ((220, 10, 10), "red"),
        ((250, 140, 10), "orange"),
        ((110, 60, 20), "brown"),
        ((250, 230, 20), "yellow"),
        ((30, 160, 40), "green"),
        ((20, 200, 190), "turquoise"),
        ((30, 60, 200), "blue"),
        ((130, 40, 180), "purple"),
        ((250, 150, 190), "pink"),
    ],
)
def test_a_plain_area_has_a_colour_and_no_hash(colour: tuple[int, ...], name: str) -> None:
    assert measured(_area(colour)) == (90, 30, None, (name,))


def test_what_is_transparent_has_no_colour() -> None:
    assert measured(_area((255, 0, 0, 0), "RGBA")).colours == ()


def test_what_cannot_be_decoded_is_an_error() -> None:
    for payload in (b"", b"\x89PNG\r\n\x1a\nnothing", drawing("JPEG")[:300]):
        with pytest.raises(FormatError):
            measured(payload)
