"""API answers about pictures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nwx.engine.indices.picture_index import (
    COLOURS,
    PICTURE_WINDOW,
    Appearance,
    Box,
    ImageSize,
    Picture,
    PictureQuestion,
    PictureResult,
    SimilarPicture,
)
from nwx.errors import UsageError
from nwx.values.records import copied

__all__ = [
    "COLOURS",
    "PICTURE_WINDOW",
    "Box",
    "ImageSize",
    "Picture",
    "PictureQuestion",
    "PictureResult",
    "SimilarPicture",
]
_HASH_DIGITS = 16


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture, and pages that show it."""

    picture: Picture
    pages: Sequence[Appearance]


@dataclass(frozen=True, slots=True)
class AppearanceAnswer:
    """A page that shows a picture, and its words about it; `page` is the id of its document."""

    page: str
    url: str
    page_title: str
    timestamp: str
    alt: str
    title: str
    anchor: str
    around: str


@dataclass(frozen=True, slots=True)
class PictureAnswer:
    """A picture; `id` is its document's, `hash` 16 hex digits, "" without one.

    `shown_on` is the page whose words match best, in a search result. `distance` is the number of
    differing hash bits, in a search for similar pictures.
    """

    id: str
    url: str
    host: str
    collection: str
    timestamp: str
    digest: str
    content_type: str
    content_length: int
    width: int
    height: int
    colours: tuple[str, ...]
    hash: str
    latitude: float | None = None
    longitude: float | None = None
    taken: str = ""
    shown_on: AppearanceAnswer | None = None
    distance: int | None = None


@dataclass(frozen=True, slots=True)
class PicturesAnswer:
    """Matching pictures, the best match first, and their total."""

    total: int
    total_relation: str
    pictures: tuple[PictureAnswer, ...]


@dataclass(frozen=True, slots=True)
class SimilarPicturesAnswer:
    """Pictures that look like another, the most similar first."""

    pictures: tuple[PictureAnswer, ...]


@dataclass(frozen=True, slots=True)
class ShownPictureAnswer:
    """A picture, and pages that show it, the earliest first."""

    picture: PictureAnswer
    shown_on: tuple[AppearanceAnswer, ...]


def pictures_answer(result: PictureResult) -> PicturesAnswer:
    """Return the answer to a question about pictures."""
    found = (listed_picture(one.picture, one.appearance) for one in result.pictures)
    return PicturesAnswer(result.total.value, result.total.relation, tuple(found))


def similar_answer(found: Iterable[SimilarPicture]) -> SimilarPicturesAnswer:
    """Return similar pictures as an API answer."""
    pictures = (listed_picture(one.picture, distance=one.distance) for one in found)
    return SimilarPicturesAnswer(tuple(pictures))


def shown_picture_answer(picture: Picture, pages: Sequence[Appearance]) -> ShownPictureAnswer:
    """Return a picture with the pages that show it as an API answer."""
    return ShownPictureAnswer(listed_picture(picture), tuple(map(appearance_answer, pages)))


def listed_picture(
    picture: Picture, appearance: Appearance | None = None, distance: int | None = None
) -> PictureAnswer:
    """Return a picture as part of an API answer."""
    hash = "" if picture.hash is None else f"{picture.hash:0{_HASH_DIGITS}x}"
    shown_on = appearance_answer(appearance) if appearance else None
    return copied(PictureAnswer, picture, hash=hash, shown_on=shown_on, distance=distance)


def appearance_answer(appearance: Appearance) -> AppearanceAnswer:
    """Return a page that shows a picture as part of an API answer."""
    url, timestamp = appearance.page_url, appearance.page_timestamp
    return copied(AppearanceAnswer, appearance, url=url, timestamp=timestamp)


def parse_box(text: str) -> Box | None:
    """Return the area of `west,south,east,north` in degrees, None if empty; raises UsageError."""
    if not text:
        return None
    try:
        box = Box(*map(float, text.split(",")))
    except (ValueError, TypeError):
        box = Box(0, 1, 0, 0)
    if not (
        -180 <= box.west <= 180 and -180 <= box.east <= 180 and -90 <= box.south <= box.north <= 90
    ):
        raise UsageError.translated(
            "box is %(text)s; write west,south,east,north in degrees", text=repr(text[:80])
        )
    return box
