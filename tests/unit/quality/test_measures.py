"""Text similarity, in addition to `tests/golden`, which has the numbers of js-levenshtein."""

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
from nwx.model import Comparison
from nwx.quality import measures
from nwx.quality.browser.targets import PageRender, PlayedResource, RenderTask
from nwx.quality.measures import (
    difference_image,
    page_likeness,
    resource_counts,
    screenshot_match,
    text_match,
)
from nwx.quality.page_information import PageInfo, PageResource

_TEXTS = st.text(alphabet="ab \n\U0001f99c", max_size=30)


def _distance(first: str, second: str) -> int:
    """Return the Levenshtein distance by the plain recurrence."""
    row = list(range(len(second) + 1))
    for place, sign in enumerate(first, 1):
        above, row = row, [place]
        for other, letter in enumerate(second, 1):
            row.append(min(above[other] + 1, row[-1] + 1, above[other - 1] + (sign != letter)))
    return row[-1]


def _units(text: str) -> str:
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(data[place] | data[place + 1] << 8) for place in range(0, len(data), 2))


@settings(deadline=None)
@given(_TEXTS, _TEXTS)
def test_the_match_is_that_of_the_plain_recurrence(first: str, second: str) -> None:
    units = _units(first), _units(second)
    longer = max(map(len, units))
    expected = 1 - _distance(*units) / longer if longer else 1
    assert text_match(first, second) == pytest.approx(expected)


@settings(deadline=None)
@given(_TEXTS, _TEXTS)
def test_a_match_is_symmetric_and_a_share(first: str, second: str) -> None:
    assert text_match(first, second) == text_match(second, first)
    assert 0 <= text_match(first, second) <= 1
    assert (text_match(first, second) == 1) == (first == second)


@settings(deadline=None)
@given(_TEXTS, _TEXTS)
def test_long_texts_never_match_better_in_pieces(first: str, second: str) -> None:
    whole = text_match(first, second)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "PIECE_CHARACTERS", 4)
        assert text_match(first, second) <= whole + 1e-9
        assert text_match(first, first) == 1


def test_very_long_texts_are_compared_in_pieces() -> None:
    line = "The lamp burns all night.\n"
    long = line * 100_000
    assert text_match(long, long + "the end") == pytest.approx(1 - 7 / len(long + "the end"))
    changed = long[:1_000_000] + "x" + long[1_000_001:]
    assert text_match(long, changed) == pytest.approx(1 - 1 / len(long))
    assert text_match(long, "") == 0


_TASK = RenderTask("http://a.example/", "20200101000000")


def _render(*statuses: tuple[str, int]) -> PageRender:
    return PageRender(_TASK, resources=tuple(PlayedResource(url, code) for url, code in statuses))


def test_the_last_answer_counts_and_no_answer_does_not() -> None:
    played = _render(
        ("http://a.example/", 200),
        ("http://a.example/x", 404),
        ("http://a.example/x", 200),
        ("http://a.example/aborted", 0),
        ("data:text/plain,x", 500),
    )
    assert resource_counts(None, played) == (None, None, 2, 0)
    assert resource_counts(None, played).is_replayed


def test_a_page_of_which_nothing_is_good_is_not_replayed() -> None:
    crawl = PageInfo("", "", (PageResource("http://a.example/", 200, "text/html", "document"),))
    found = resource_counts(crawl, _render(("http://a.example/", 404)))
    assert found == (1, 0, 0, 1)
    assert not found.is_replayed
    assert resource_counts(PageInfo("", "", ()), _render()).is_replayed


def test_what_cannot_be_seen_does_not_differ() -> None:
    first = np.zeros((9, 9, 4), dtype=np.uint8)
    second = np.full((9, 9, 4), 255, dtype=np.uint8)
    assert screenshot_match(_png(first), _png(second)).match == 1


_SMALL = arrays(np.uint8, st.just((6, 8, 3)), elements=st.sampled_from([0, 90, 255]))


def _png(pixels: NDArray[np.uint8]) -> bytes:
    return _saved(Image.fromarray(pixels))


def _saved(picture: Image.Image, form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    picture.save(stream, form)
    return stream.getvalue()


def _page(lower: int = 0, *, image: bool = True, style: bool = True) -> bytes:
    """Return an image that looks like a page, with lines of words 20 pixels high."""
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
def test_a_match_is_symmetric_and_a_share_of_screenshots(
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


_INFO = PageInfo("", "", (PageResource("http://a.example/", 200, "text/html", "document"),))
_GOOD = (PlayedResource("http://a.example/", 200),)


def _png_of_page_likeness(colour: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (20, 10), colour).save(stream, "PNG")
    return stream.getvalue()


def test_what_there_is_is_compared() -> None:
    played = PageRender(_TASK, view=_png_of_page_likeness("white"), text="a lamp", resources=_GOOD)
    found = page_likeness(played, _png_of_page_likeness("white"), "a camp", _INFO)
    assert found.comparison == Comparison(1.0, 1 - 1 / 6, 1, 0, 1, 0)
    assert found.structure == 1.0
    assert page_likeness(played).comparison == Comparison(None, None, None, None, 1, 0)


def test_nothing_matches_where_nothing_was_replayed() -> None:
    played = PageRender(
        _TASK, view=_png_of_page_likeness("white"), resources=(PlayedResource("http://a/", 404),)
    )
    found = page_likeness(played, _png_of_page_likeness("white"), "", _INFO)
    assert (found.comparison.screenshot, found.comparison.text) == (0, 0)


def test_a_screenshot_that_is_broken_is_a_problem_and_no_more() -> None:
    played = PageRender(_TASK, view=_png_of_page_likeness("white"), resources=_GOOD)
    found = page_likeness(played, b"not a PNG", "", _INFO)
    assert found.comparison.screenshot is None
    assert found.comparison.text == 1
    assert found.problem
