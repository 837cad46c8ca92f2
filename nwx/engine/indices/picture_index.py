"""Engine interface for pictures: images with their measures, and texts of pages about them."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from nwx.engine.entries import IndexEntry, clean_text
from nwx.engine.indices.entry_store import StatefulIndex
from nwx.errors import QueryError, UsageError, WindowError
from nwx.keys import document_id
from nwx.model import Total
from nwx.query.question import NONE_HIDDEN, HiddenDocuments
from nwx.query.words import PictureQuery, picture_words, resolve_picture_query

MOST_APPEARANCES = 1_000
"""The most appearances kept for the images of one URL, as a logo is on every page of a site."""

SIMILAR_BITS = 10
"""Pictures are similar if at most this many of the 64 bits of their hashes differ."""

_YEAR_DIGITS = 4

PICTURE_WINDOW = 10_000
"""The number of pictures that pages can reach."""

COLOURS = (
    "black",
    "white",
    "grey",
    "red",
    "orange",
    "brown",
    "yellow",
    "green",
    "turquoise",
    "blue",
    "purple",
    "pink",
)
"""The names of the main colours of pictures."""


class ImageSize(StrEnum):
    """The size of a picture, by its longer side: below 64, 300, 1,000 pixels, or larger."""

    ICON = "icon"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


SIZE_LIMITS = {
    ImageSize.ICON: (0, 64),
    ImageSize.SMALL: (64, 300),
    ImageSize.MEDIUM: (300, 1_000),
    ImageSize.LARGE: (1_000, (1 << 31) - 1),
}
"""The bounds of the longer side for each size: from, and up to but excluding."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as a document: one version of one URL; `id` is the id of the document.

    The capture is the first one that was measured. `hash` is a perceptual hash of 64 bits, None if
    the image has no distinctive features, such as a plain area. `colours` are the main ones, names
    of COLOURS. `latitude` and `longitude` (degrees) and `taken` (14 digits, in the camera's time
    zone) are from the camera.
    """

    id: str
    url: str
    urlkey: str
    host: str
    domain: str
    collection: str
    timestamp: str
    digest: str
    content_type: str
    width: int
    height: int
    content_length: int = 0
    hash: int | None = None
    colours: tuple[str, ...] = ()
    latitude: float | None = None
    longitude: float | None = None
    taken: str = ""


@dataclass(frozen=True, slots=True)
class Appearance:
    """A page that shows an image, with the page's texts about it.

    `page` is the id of the page's document, `urlkey` is the urlkey of the image. `picture` is the
    id of the version shown on the page, the nearest in time, "" if the archive has none of that
    URL. `anchor` is the text of links to the image, `around` is the text next to it on the page.
    """

    page: str
    page_url: str
    page_title: str
    page_timestamp: str
    page_collection: str
    urlkey: str
    picture: str = ""
    alt: str = ""
    title: str = ""
    anchor: str = ""
    around: str = ""


class Box(NamedTuple):
    """An area, edges in degrees; if `west` is above `east`, it crosses the date line."""

    west: float
    south: float
    east: float
    north: float

    @property
    def spans(self) -> list[tuple[float, float]]:
        """The range of longitudes from west to east, in one part or two."""
        if self.west <= self.east:
            return [(self.west, self.east)]
        return [(self.west, 180.0), (-180.0, self.east)]


@dataclass(frozen=True, slots=True)
class PictureQuestion:
    """Search for pictures that match the query and all non-empty fields.

    `query` is Lucene syntax of words, phrases and prefixes, with `host`, `domain` and
    `content_type` as fields. `colours` must all be among the main ones. Collection and year (four
    digits) belong to the measured capture. Pictures with `box` were taken there. Pictures that are
    `hidden` documents are not found, and the words of a hidden page find none (`is_hidden`).
    """

    query: str = ""
    size: ImageSize | None = None
    colours: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    years: tuple[str, ...] = ()
    box: Box | None = None
    hidden: HiddenDocuments = NONE_HIDDEN
    limit: int = 50
    offset: int = 0

    def __post_init__(self) -> None:
        """Raise UsageError on an unknown colour or negative number, QueryError on a wrong year."""
        for colour in self.colours:
            if colour not in COLOURS:
                raise UsageError(f"there is no colour {colour!r}; use {', '.join(COLOURS)}")
        for year in self.years:
            if not (len(year) == _YEAR_DIGITS and year.isascii() and year.isdigit()):
                raise QueryError.translated(
                    "%(value)s is not a year; write four digits", value=repr(year[:40])
                )
        if min(self.limit, self.offset) < 0:
            raise UsageError(f"limit is {self.limit}, offset {self.offset}; both are 0 or more")


def is_hidden(hidden: HiddenDocuments, id: str, timestamp: str, collection: str) -> bool:
    """Return whether a picture or a page is hidden, by its date in the index.

    If spans of dates are hidden, a document that also has captures outside these spans may be
    hidden as well.
    """
    if id in hidden.documents:
        return True
    if not hidden.spans or id in hidden.dates or id in hidden.apart:
        return False
    return any(span.holds(timestamp, collection) for span in hidden.spans)


class FoundPicture(NamedTuple):
    """A picture found, and the best matching appearance, None if only its name matches."""

    picture: Picture
    appearance: Appearance | None


class SimilarPicture(NamedTuple):
    """A similar picture, with the number of differing bits of the 64-bit hashes."""

    picture: Picture
    distance: int


@dataclass(frozen=True, slots=True)
class PictureResult:
    """Result of a picture search: the number of matches and the page, best match first.

    Without words the largest picture is first.
    """

    total: Total
    pictures: tuple[FoundPicture, ...]


class PictureIndex(StatefulIndex):
    """The index pictures of an engine; it may be written to during an import.

    Writes are visible at once.
    """

    @abstractmethod
    def put(self, pictures: Sequence[Picture], appearances: Sequence[Appearance] = ()) -> None:
        """Store pictures and appearances, replacing existing ones.

        An appearance is identified by page and urlkey. Its picture must be stored already, or be
        among `pictures`.
        """

    @abstractmethod
    def pictures_of(self, ids: Collection[str]) -> dict[str, Picture]:
        """Return the stored pictures among these ids."""

    @abstractmethod
    def appearances_at(self, urlkeys: Collection[str]) -> list[Appearance]:
        """Return all appearances of images of these urlkeys."""

    @abstractmethod
    def appearance_counts(self, urlkeys: Collection[str]) -> dict[str, int]:
        """Return the number of appearances of the images of these urlkeys, without zeros."""

    @abstractmethod
    def search(self, question: PictureQuestion) -> PictureResult:
        """Search pictures.

        Raises QueryError on a query not supported for pictures, WindowError beyond PICTURE_WINDOW.
        """

    @abstractmethod
    def appearances_of(
        self, id: str, limit: int, hidden: HiddenDocuments = NONE_HIDDEN
    ) -> list[Appearance]:
        """Return pages that show a picture, the earliest first, ties by page, without `hidden`."""

    @abstractmethod
    def similar(
        self, hash: int, limit: int, hidden: HiddenDocuments = NONE_HIDDEN
    ) -> list[SimilarPicture]:
        """Return pictures whose hashes differ in at most SIMILAR_BITS, most similar first.

        Ties are sorted by size, the largest first, then by id.
        """

    @abstractmethod
    def remove(self, ids: Iterable[str]) -> int:
        """Remove pictures and appearances on pages of these ids; return the number of entries.

        `ids` are document ids. `Purger.erase` removes the data from the files.
        """

    @abstractmethod
    def clear(self) -> None:
        """Remove everything, states too."""


def checked_query(question: PictureQuestion) -> PictureQuery:
    """Return the query of a question. Raises as `PictureIndex.search` does."""
    if question.offset + question.limit > PICTURE_WINDOW:
        raise WindowError.translated(
            "only the first %(most)s pictures can be requested", most=PICTURE_WINDOW
        )
    return resolve_picture_query(question.query)


APPEARANCE_TEXTS = ("alt", "title", "anchor", "around")
"""The fields with a page's texts about an image."""

WORD_FIELDS = {
    "alt_words": 3.0,
    "title_words": 2.0,
    "anchor_words": 2.0,
    "name_words": 2.0,
    "around_words": 1.0,
}
"""The fields searched for words, with their weights."""

_LONGEST_NAME = 200
_SIGN_BIT = 1 << 63


def appearance_id(appearance: Appearance) -> str:
    """Return the id of an appearance, derived from its page and the urlkey of the image."""
    return document_id(f"{appearance.page} {appearance.urlkey}")


def picture_entry(picture: Picture) -> IndexEntry:
    """Return the entry of a picture."""
    entry: IndexEntry = {
        "kind": "picture",
        "picture": picture.id,
        **asdict(picture),
        "colours": list(picture.colours),
        "hash": None if picture.hash is None else signed(picture.hash),
        "long_side": max(picture.width, picture.height),
        "area": picture.width * picture.height,
        "name_words": words_of_name(picture.url),
    }
    return {name: value for name, value in entry.items() if value not in (None, "", [])}


def picture_from_entry(entry: Mapping[str, Any]) -> Picture:
    """Return the picture of an entry."""
    hash = entry.get("hash")
    return Picture(
        **{name: entry.get(name, "") for name in _PICTURE_TEXTS},
        width=entry["width"],
        height=entry["height"],
        content_length=entry.get("content_length", 0),
        hash=None if hash is None else unsigned(hash),
        colours=tuple(entry.get("colours", ())),
        latitude=entry.get("latitude"),
        longitude=entry.get("longitude"),
        taken=entry.get("taken", ""),
    )


_PICTURE_TEXTS = (
    *("id", "url", "urlkey", "host", "domain"),
    *("collection", "timestamp", "digest", "content_type"),
)
_APPEARANCE_FIELDS = (
    *("page", "page_url", "page_title", "page_timestamp", "page_collection", "urlkey", "picture"),
    *APPEARANCE_TEXTS,
)


def appearance_entry(appearance: Appearance) -> IndexEntry:
    """Return the entry of an appearance, without the WORD_FIELDS."""
    entry: IndexEntry = {
        "id": appearance_id(appearance),
        "kind": "appearance",
        **{name: clean_text(getattr(appearance, name)) for name in _APPEARANCE_FIELDS},
    }
    return {name: value for name, value in entry.items() if value != ""}


def appearance_from_entry(entry: Mapping[str, Any]) -> Appearance:
    """Return the appearance of an entry."""
    return Appearance(**{name: entry.get(name, "") for name in _APPEARANCE_FIELDS})


def words_of_appearance(appearance: Appearance) -> dict[str, str]:
    """Return the words of an appearance by the fields of WORD_FIELDS, without the name."""
    texts = ((f"{name}_words", getattr(appearance, name)) for name in APPEARANCE_TEXTS)
    return {name: " ".join(picture_words(text)) for name, text in texts}


def words_of_name(url: str) -> str:
    """Return the words of an image's file name without suffix, separated by spaces."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    name = unquote(path.rstrip("/").rpartition("/")[2])[-_LONGEST_NAME:]
    stem, dot, _ = name.rpartition(".")
    return " ".join(picture_words(stem if dot else name))


def signed(hash: int) -> int:
    """Return a hash of 64 bits as a signed number, for databases."""
    return (hash ^ _SIGN_BIT) - _SIGN_BIT


def unsigned(number: int) -> int:
    """Return the hash from a database's signed number."""
    return number & ((1 << 64) - 1)
