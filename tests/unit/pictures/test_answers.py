"""Answers about pictures."""

from nwx.engine.indices.picture_index import (
    Appearance,
    FoundPicture,
    Picture,
    PictureResult,
    SimilarPicture,
)
from nwx.model import Total
from nwx.pictures.answers import pictures_answer, shown_picture_answer, similar_answer

PICTURE = Picture(
    *("id", "http://a.org/x.png", "org,a)/x.png", "a.org", "a.org", "web", "20100101000000"),
    *("sha1:X", "image/png", 3, 2, 9),
    hash=10,
    colours=("red",),
)
SHOWN = Appearance("page", "http://a.org/", "Title", "2010", "web", "org,a)/x.png", "id", "alt")


def test_pictures_are_answered_with_the_page_that_matches() -> None:
    found = (FoundPicture(PICTURE, SHOWN), FoundPicture(PICTURE, None))
    answer = pictures_answer(PictureResult(Total(7, "gte"), found))
    assert (answer.total, answer.total_relation) == (7, "gte")
    first, second = answer.pictures
    assert (first.hash, first.colours, first.width) == ("000000000000000a", ("red",), 3)
    assert first.shown_on is not None
    assert (first.shown_on.url, first.shown_on.alt) == ("http://a.org/", "alt")
    assert second.shown_on is None


def test_similar_pictures_have_a_distance() -> None:
    (one,) = similar_answer([SimilarPicture(PICTURE, 4)]).pictures
    assert (one.id, one.distance) == ("id", 4)


def test_a_picture_is_answered_with_its_pages() -> None:
    answer = shown_picture_answer(PICTURE, [SHOWN])
    assert [one.page for one in answer.shown_on] == ["page"]
