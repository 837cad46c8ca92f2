"""Pictures with transparent parts; against pixelmatch itself: tests/golden/browsertrix."""

import numpy as np
import pybind11_pixelmatch as pixelmatch
import pytest

from nwx.quality.measures.blended_pixels import differing_pixels, has_transparency
from tests.golden.browsertrix.pairs import pictures

OPAQUE = {name: pair for name, pair in pictures().items() if not has_transparency(np.hstack(pair))}


def test_one_pixel_that_is_not_opaque_is_transparency() -> None:
    pixels = np.full((4, 5, 4), 255, dtype=np.uint8)
    assert not has_transparency(pixels)
    pixels[3, 4, 3] = 254
    assert has_transparency(pixels)


@pytest.mark.parametrize("name", OPAQUE)
def test_opaque_pictures_have_the_numbers_of_the_library(name: str) -> None:
    first, second = OPAQUE[name]
    options = pixelmatch.Options()
    options.threshold = 0.1
    expected = pixelmatch.pixelmatch(
        np.ascontiguousarray(first),
        np.ascontiguousarray(second),
        output=np.zeros_like(first),
        options=options,
    )
    assert differing_pixels(first, second, 0.1) == expected


def test_what_cannot_be_seen_does_not_differ() -> None:
    first = np.zeros((9, 9, 4), dtype=np.uint8)
    second = np.full((9, 9, 4), 255, dtype=np.uint8)
    assert differing_pixels(first, second, 0.1) == 0
