"""Test how alike screenshots are: beside `tests/golden`, which has the numbers of pixelmatch."""

import io
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from nwx.errors import FormatError
from nwx.quality.measures.screenshots import difference_image, screenshot_match

_SMALL = arrays(np.uint8, st.just((6, 8, 3)), elements=st.sampled_from([0, 90, 255]))


def _png(pixels: NDArray[np.uint8]) -> bytes:
    return _saved(Image.fromarray(pixels))


def _saved(picture: Image.Image, form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    picture.save(stream, form)
    return stream.getvalue()


def _page(lower: int = 0, *, image: bool = True, style: bool = True) -> bytes:
    """Return a picture of something like a page, lines of words of 20 pixels each."""
    page = Image.new("RGB", (960, 540), "white")
    draw = ImageDraw.Draw(page)
    left, width = (150, 500) if style else (5, 900)
    if style:
        draw.rectangle((0, 0, 960, 40), fill=(30, 60, 120))
    words = Random(5)
    for top in range(55 + lower, 540, 10):
        for word in range(40):
            if words.random() < 0.8:
                x = left + word * width // 40
                draw.rectangle((x, top, x + width // 40 - 3, top + 4), fill=(40, 40, 40))
    if image:
        draw.rectangle((675, 75 + lower, 925, 250 + lower), fill=(200, 90, 40))
    return _saved(page)


@settings(deadline=None)
@given(_SMALL, _SMALL)
def test_a_match_is_symmetric_and_a_share(
    first: NDArray[np.uint8], second: NDArray[np.uint8]
) -> None:
    found = screenshot_match(_png(first), _png(second))
    assert found == screenshot_match(_png(second), _png(first))
    assert 0 <= found.match <= 1
    assert 0 <= found.structure <= 1


@settings(deadline=None)
@given(_SMALL)
def test_a_picture_matches_itself(pixels: NDArray[np.uint8]) -> None:
    assert screenshot_match(_png(pixels), _png(pixels)) == (1, 1)
    drawn = np.asarray(Image.open(io.BytesIO(difference_image(_png(pixels), _png(pixels)))))
    assert (drawn == 255).all()


@settings(deadline=None)
@given(_SMALL, st.integers(0, 7), st.integers(0, 5))
def test_equal_pixels_never_count_as_different(
    pixels: NDArray[np.uint8], right: int, lower: int
) -> None:
    changed = pixels.copy()
    changed[lower, right] = 255 - changed[lower, right]
    assert screenshot_match(_png(pixels), _png(changed)).match >= 1 - 1 / 48


def test_the_structure_bears_a_shift_by_a_line_and_tells_a_missing_style() -> None:
    shifted = screenshot_match(_page(), _page(10))
    bare = screenshot_match(_page(), _page(style=False))
    assert shifted.structure > 0.9
    assert bare.structure < 0.5
    assert screenshot_match(_page(), _page(image=False)).structure < 0.7


def test_the_structure_of_nearly_empty_pictures_is_that_of_empty_ones() -> None:
    empty = Image.new("RGB", (200, 200), "white")
    dotted = empty.copy()
    dotted.putpixel((3, 3), (0, 0, 0))
    assert screenshot_match(_saved(empty), _saved(dotted)).structure == 1


def test_rows_that_both_have_are_compared_and_columns_that_one_has_are_different() -> None:
    long, short = Image.new("RGB", (100, 900), "white"), Image.new("RGB", (100, 90), "white")
    assert screenshot_match(_saved(long), _saved(short)).match == 1
    narrow = Image.new("RGB", (50, 90), "white")
    assert screenshot_match(_saved(narrow), _saved(short)).match == 0.5
    drawn = Image.open(io.BytesIO(difference_image(_saved(narrow), _saved(short))))
    assert (drawn.size, drawn.getpixel((49, 0))) == ((100, 90), (255, 255, 255))
    assert drawn.getpixel((50, 0)) == (255, 0, 0)


def test_the_difference_is_drawn_in_red() -> None:
    page, bare = _page(), _page(image=False)
    drawn = Image.open(io.BytesIO(difference_image(page, bare)))
    assert drawn.getpixel((800, 150)) == (255, 0, 0)
    assert drawn.getpixel((800, 400)) == (255, 255, 255)


def test_jpegs_are_compared_too() -> None:
    page = Image.open(io.BytesIO(_page()))
    assert screenshot_match(_saved(page, "JPEG"), _page()).match > 0.9


def test_what_is_no_picture_is_an_error() -> None:
    with pytest.raises(FormatError):
        screenshot_match(b"GIF89a nothing", _page())
    with pytest.raises(FormatError):
        difference_image(_page(), _page()[:-200])
