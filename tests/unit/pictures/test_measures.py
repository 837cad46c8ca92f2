"""The measures of images."""

import io

import pytest
from PIL import Image, TiffImagePlugin

from nwx.errors import FormatError
from nwx.pictures.measures import measured
from tests.pictured import drawing, photograph


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
    assert measured(_area(colour))[:4] == (90, 30, None, (name,))


def test_what_is_transparent_has_no_colour() -> None:
    assert measured(_area((255, 0, 0, 0), "RGBA")).colours == ()


def test_what_cannot_be_decoded_is_an_error() -> None:
    for payload in (b"", b"\x89PNG\r\n\x1a\nnothing", drawing("JPEG")[:300]):
        with pytest.raises(FormatError):
            measured(payload)


def test_position_and_time_are_those_of_exif() -> None:
    found = measured(photograph((55, 40, 34.5), (12, 34, 0), "ne", "2014:03:25 12:17:32"))
    assert (found.latitude, found.longitude, found.taken) == (55.67625, 12.566667, "20140325121732")
    found = measured(photograph((33, 52, 4), (151, 12, 36), "SW", "2014:13:25 12:17:32"))
    assert (found.latitude, found.longitude, found.taken) == (-33.867778, -151.21, "")
    assert measured(drawing())[4:] == (None, None, "")


@pytest.mark.parametrize(
    ("latitude", "longitude", "signs"),
    [
        ((0, 0, 0), (0, 0, 0), "NE"),
        ((91, 0, 0), (12, 0, 0), "NE"),
        ((55, 0, 0), (180, 0, 1), "NE"),
        ((55, 61, 0), (12, 0, 0), "NE"),
        ((55, 0, 0), (12, 0, 0), "XE"),
        ((55, 0), (12, 0, 0), "NE"),
        ((TiffImagePlugin.IFDRational(1, 0), 0, 0), (12, 0, 0), "NE"),
    ],
)
def test_impossible_positions_are_left_out(
    latitude: tuple[object, ...], longitude: tuple[object, ...], signs: str
) -> None:
    found = measured(photograph(latitude, longitude, signs, "2014:03:25 12:17:32"))
    assert (found.latitude, found.longitude, found.taken) == (None, None, "20140325121732")


def test_exif_that_lies_about_its_lengths_harms_nothing() -> None:
    whole = photograph((55, 40, 34.5), (12, 34, 0))
    at = whole.index(b"Exif")
    for place in range(at + 6, at + 120):
        for value in (b"\xff", b"\x00"):
            found = measured(whole[:place] + value + whole[place + 1 :])
            assert found.latitude is None or -90 <= found.latitude <= 90
    assert measured(drawing("JPEG")).latitude is None
