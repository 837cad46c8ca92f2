"""The pages of pictures: what matches a query, one with the pages that show it, similar ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from flask import Blueprint, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound, RequestEntityTooLarge

from nwx.engine.indices.picture_index import (
    COLOURS,
    PICTURE_WINDOW,
    Appearance,
    ImageSize,
    Picture,
    PictureIndex,
    PictureQuestion,
    SimilarPicture,
)
from nwx.errors import ErrorText, FormatError, QueryError, UsageError
from webapp.pictures.backend import pictures
from webapp.search.documents import ID
from webapp.search.page import mark, page_numbers
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.parameters import Arguments
from webapp.site.question_limits import answer_search
from webapp.users.guards import check_origin, open_to_all

PICTURES_A_PAGE = 50
MOST_PICTURE_PAGES = 200

IMAGE_SIZES = {
    ImageSize.ICON: lazy_gettext("Icons"),
    ImageSize.SMALL: lazy_gettext("Small"),
    ImageSize.MEDIUM: lazy_gettext("Medium"),
    ImageSize.LARGE: lazy_gettext("Large"),
}
COLOUR_NAMES = {
    "black": lazy_gettext("black"),
    "white": lazy_gettext("white"),
    "grey": lazy_gettext("grey"),
    "red": lazy_gettext("red"),
    "orange": lazy_gettext("orange"),
    "brown": lazy_gettext("brown"),
    "yellow": lazy_gettext("yellow"),
    "green": lazy_gettext("green"),
    "turquoise": lazy_gettext("turquoise"),
    "blue": lazy_gettext("blue"),
    "purple": lazy_gettext("purple"),
    "pink": lazy_gettext("pink"),
}


FILTER_FIELDS = {
    "host": "hosts",
    "domain": "domains",
    "collection": "collections",
    "year": "years",
}
"""The parameters of filters by values, and the fields of a question that hold these."""


class PictureFilter(NamedTuple):
    """A filter that is set: its value for people, and the address without it."""

    label: str
    address: str


@dataclass(frozen=True, slots=True)
class PictureAddresses:
    """Where the links of a page of pictures lead: the same question with one thing changed."""

    base: str
    question: PictureQuestion

    @property
    def page_number(self) -> int:
        """The number of this page, counted from 1."""
        return self.question.offset // PICTURES_A_PAGE + 1

    def page(self, number: int) -> str:
        """Return the address of another page."""
        return self._of(self.question, number)

    def filters(self) -> list[PictureFilter]:
        """Return the filters that are set beside the form's, each with the address without it."""
        asked = self.question
        return [
            PictureFilter(value, self._of(_without(asked, field, value)))
            for field in FILTER_FIELDS.values()
            for value in getattr(asked, field)
        ]

    def _of(self, asked: PictureQuestion, page: int = 1) -> str:
        pairs = [("q", asked.query)] if asked.query else []
        pairs += [("size", asked.size)] if asked.size else []
        pairs += [("colour", one) for one in asked.colours]
        pairs += [
            (name, one) for name, field in FILTER_FIELDS.items() for one in getattr(asked, field)
        ]
        pairs += [("page", str(page))] if page > 1 else []
        return f"{self.base}?{urlencode(pairs)}"


def _without(asked: PictureQuestion, field: str, value: str) -> PictureQuestion:
    left: Any = tuple(one for one in getattr(asked, field) if one != value)
    return replace(asked, **{field: left})


def read_picture_question(arguments: Arguments) -> PictureQuestion:
    """Return the question of an address, without what says how much of the answer is wanted.

    Raises UsageError for values that make no sense.
    """
    filters: Mapping[str, Any] = parameters.filters(arguments)
    return PictureQuestion(
        query=parameters.text(arguments, "q", parameters.MAX_QUERY),
        size=parameters.optional_choice(arguments, "size", ImageSize),
        colours=tuple(
            parameters.one_of_these("colour", one, COLOURS)
            for one in parameters.different("colour", arguments.getlist("colour"))
        ),
        **{field: filters.get(name, ()) for name, field in FILTER_FIELDS.items()},
    )


def read_picture_page(arguments: Arguments) -> PictureQuestion:
    """Return the question of a page of pictures; raises as `read_picture_question` does."""
    page = parameters.number_parameter(arguments, "page", 1, 1, MOST_PICTURE_PAGES)
    question = read_picture_question(arguments)
    return replace(question, offset=(page - 1) * PICTURES_A_PAGE, limit=PICTURES_A_PAGE)


def read_hash(arguments: Arguments) -> int | None:
    """Return the hash of an address, 16 hex digits, None where it has none."""
    digits = parameters.text(arguments, "hash", 16)
    if not digits:
        return None
    if len(digits) != 16 or not set(digits) <= _HEX_DIGITS:
        raise UsageError(ErrorText("hash has 16 hex digits"))
    return int(digits, 16)


_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


blueprint = Blueprint("picture_pages", __name__, url_prefix="/pictures")

MOST_UPLOADED = 8 << 20
"""The bytes of an image that similar ones are looked up for."""

UPLOAD_FORM_BYTES = MOST_UPLOADED + (1 << 16)

SIMILAR_SHOWN = 60
_PAGES_SHOWN = 100
_SIMILAR_BESIDE = 12


@blueprint.get("", endpoint="show")
def show_pictures() -> ResponseReturnValue:
    """Show the pictures that match a query as a grid of thumbnails."""
    question = read_picture_page(request.args)
    g.box_query = question.query
    index = engine().picture_index()
    to = PictureAddresses(url_for(".show"), question)
    try:
        result = answer_search(lambda: index.search(question))
    except QueryError as error:
        return _page("pictures.html", to, result=None, error=error, mark=mark(error)), 400
    total = min(result.total.value, PICTURE_WINDOW)
    last = -(-total // PICTURES_A_PAGE)
    return _page(
        "pictures.html",
        to,
        result=result,
        is_made=index.is_made(),
        pages=page_numbers(to.page_number, last),
        last_page=last,
        collections=engine().collections(),
        window=PICTURE_WINDOW,
    )


def _page(template: str, to: PictureAddresses, **values: object) -> str:
    return render_template(
        template,
        to=to,
        question=to.question,
        sizes=IMAGE_SIZES,
        colours=COLOUR_NAMES,
        has_pictures=True,
        **values,
    )


@blueprint.get(f"/{ID}", endpoint="picture")
def show_picture(document_id: str) -> ResponseReturnValue:
    """Show a picture, the pages that show it, and similar ones."""
    index = engine().picture_index()
    picture = index.pictures_of([document_id]).get(document_id)
    if picture is None:
        raise NotFound(gettext("there is no picture %(id)s in this archive", id=document_id))
    shown_on, similar = answer_search(lambda: _beside(index, picture))
    return render_template(
        "picture.html",
        picture=picture,
        colours=COLOUR_NAMES,
        shown_on=shown_on,
        most_shown=_PAGES_SHOWN,
        similar=similar,
    )


def _beside(
    index: PictureIndex, picture: Picture
) -> tuple[Sequence[Appearance], Sequence[SimilarPicture]]:
    """Return pages that show a picture, and pictures like it."""
    shown_on = index.appearances_of(picture.id, _PAGES_SHOWN)
    if picture.hash is None:
        return shown_on, ()
    similar = index.similar(picture.hash, _SIMILAR_BESIDE + 1)
    return shown_on, [one for one in similar if one.picture.id != picture.id][:_SIMILAR_BESIDE]


@blueprint.get("/similar", endpoint="similar")
def show_similar() -> ResponseReturnValue:
    """Show the pictures that look like an image of a hash, or the form to choose an image."""
    hash = read_hash(request.args)
    index = engine().picture_index()
    found = None if hash is None else answer_search(lambda: index.similar(hash, SIMILAR_SHOWN))
    return render_template("similar_pictures.html", similar=found)


@blueprint.post("/similar", endpoint="upload")
@open_to_all
def upload_image() -> ResponseReturnValue:
    """Lead to the pictures that look like an image; nothing of it is kept."""
    check_origin(lazy_gettext("uploads"))
    limit_upload(UPLOAD_FORM_BYTES)
    file = request.files.get("image")
    payload = file.read() if file else b""
    if len(payload) > MOST_UPLOADED:
        raise RequestEntityTooLarge
    if not payload:
        raise UsageError(ErrorText("choose an image file first"))
    return redirect(url_for(".similar", hash=f"{hash_of_image(payload):016x}"), 303)


def limit_upload(most: int) -> None:
    """Raise RequestEntityTooLarge for more than so many bytes, before they are read."""
    if (request.content_length or 0) > most:
        raise RequestEntityTooLarge
    request.max_content_length = most


def hash_of_image(payload: bytes) -> int:
    """Return the hash of an image that somebody sent.

    Raises UsageError for what is none, or has nothing to tell it by, and
    EngineBusyError where too many are being decoded.
    """
    # Imported here, so that whoever serves no pictures does not load Pillow.
    from nwx.pictures.measures import measured

    with pictures().scaled.place():
        try:
            hash = measured(payload).hash
        except FormatError as error:
            raise UsageError(error.text) from error
    if hash is None:
        raise UsageError(ErrorText("the image is a plain area; nothing is like it"))
    return hash
