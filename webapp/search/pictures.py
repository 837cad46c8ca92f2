"""Search for pictures, as pages and in the JSON API: by words, one picture, similar ones, a map."""

from dataclasses import replace
from math import log10
from typing import Any, NamedTuple

from flask import Blueprint, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound, RequestEntityTooLarge

from nwx.errors import ErrorText, FormatError, QueryError, UsageError
from nwx.pictures.answers import (
    COLOURS,
    PICTURE_WINDOW,
    ImageSize,
    PictureQuestion,
    PicturesAnswer,
    ShownPicture,
    ShownPictureAnswer,
    SimilarPicturesAnswer,
    parse_box,
    pictures_answer,
    shown_picture_answer,
    similar_answer,
)
from webapp.login_page import check_origin, open_to_all
from webapp.search.documents import ID
from webapp.search.page import mark, page_numbers
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.openapi import (
    COUNT,
    ERRORS,
    NOT_FOUND,
    TEXT,
    Operation,
    Parameter,
    check_parameters,
)
from webapp.site.parameters import Arguments, Asked
from webapp.site.question_limits import answer_search
from webapp.site.responses import json_answer

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
"""The parameters of filters, and the fields of a question that hold their values."""


class PictureFilter(NamedTuple):
    """An active filter: its label, and the address without it."""

    label: str
    address: str


def read_pictures(arguments: Arguments, base: str = "") -> Asked:
    """Return the parameters of a picture search; raises UsageError on invalid values."""
    filters = parameters.filters(arguments)
    given: dict[str, object] = {
        "q": parameters.text(arguments, "q", parameters.MAX_QUERY),
        "size": parameters.optional_choice(arguments, "size", ImageSize),
        "colour": tuple(
            parameters.one_of_these("colour", one, COLOURS)
            for one in parameters.different("colour", arguments.getlist("colour"))
        ),
        **{name: filters.get(name, ()) for name in FILTER_FIELDS},
        "box": parameters.text(arguments, "box", 100),
    }
    parse_box(str(given["box"]))
    return Asked(base, given)


def picture_question(asked: Asked) -> PictureQuestion:
    """Return the picture question of parameters, without offset and limit."""
    fields = {"q": "query", "colour": "colours", **FILTER_FIELDS}
    values: dict[str, Any] = {fields.get(name, name): one for name, one in asked.values.items()}
    return PictureQuestion(**values | {"box": parse_box(values["box"])})


def _filters(asked: Asked) -> list[PictureFilter]:
    """Return the active filters outside the form, each with the address without it."""
    values: dict[str, Any] = {name: asked.values[name] for name in FILTER_FIELDS}
    return [
        PictureFilter(
            value, asked.address("", **{name: tuple(one for one in given if one != value)})
        )
        for name, given in values.items()
        for value in given
    ] + [PictureFilter(str(one), asked.address("", box="")) for one in [asked.values["box"]] if one]


def read_hash(arguments: Arguments) -> int | None:
    """Return the parameter `hash`, 16 hex digits, as a number; None without it."""
    digits = parameters.text(arguments, "hash", 16)
    if not digits:
        return None
    if len(digits) != 16 or not set(digits) <= _HEX_DIGITS:
        raise UsageError(ErrorText("hash must have 16 hex digits"))
    return int(digits, 16)


_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


blueprint = Blueprint("picture_pages", __name__, url_prefix="/pictures")

MOST_UPLOADED = 8 << 20
"""The most bytes of an uploaded image."""

UPLOAD_FORM_BYTES = MOST_UPLOADED + (1 << 16)

SIMILAR_SHOWN = 60
_PAGES_SHOWN = 100
_SIMILAR_BESIDE = 12
_MAP_SECONDS = 60.0


@blueprint.get("", endpoint="show")
def show_pictures() -> ResponseReturnValue:
    """Show the pictures that match a query as a grid of thumbnails."""
    page = parameters.list_page(request.args, PICTURES_A_PAGE, MOST_PICTURE_PAGES)
    asked, shown = read_pictures(request.args, url_for(".show")), archive()
    question = replace(picture_question(asked), offset=page.begin, limit=page.size)
    g.box_query = question.query
    values: dict[str, Any] = {
        "to": asked,
        "question": question,
        "filters": _filters(asked),
        "sizes": IMAGE_SIZES,
        "colours": COLOUR_NAMES,
        "has_pictures": True,
    }
    try:
        result = answer_search(lambda: shown.search_pictures(question))
    except QueryError as error:
        values |= {"result": None, "error": error, "mark": mark(error)}
        return render_template("pictures.html", **values), 400
    last = -(-min(result.total.value, PICTURE_WINDOW) // PICTURES_A_PAGE)
    return render_template(
        "pictures.html",
        result=result,
        is_made=shown.is_built("pictures"),
        page=page.number,
        pages=page_numbers(page.number, last),
        last_page=last,
        collections=shown.collections(),
        window=PICTURE_WINDOW,
        **values,
    )


@blueprint.get("/map", endpoint="map")
def show_map() -> ResponseReturnValue:
    """Show where pictures were taken: a world map and a list of countries."""
    shown = archive()
    found = service().answers.answer(
        ("picture map", shown.stamp()), lambda: answer_search(shown.picture_map), _MAP_SECONDS
    )
    # Imported here, so that the outlines are loaded only for this page.
    from nwx.pictures.map import UNITS, outlines

    return render_template(
        "picture_map.html",
        found=found,
        outlines=outlines() if found.cells else "",
        units=UNITS,
        radius=lambda cell: round(8 + 4 * log10(cell.pictures), 1),
        is_made=shown.is_built("pictures"),
    )


@blueprint.get(f"/{ID}", endpoint="picture")
def show_picture(document_id: str) -> ResponseReturnValue:
    """Show a picture, the pages that show it, and similar ones."""
    found, shown = picture_or_404(document_id, _PAGES_SHOWN), archive()
    picture, similar = found.picture, []
    if (hash := picture.hash) is not None:
        like = answer_search(lambda: shown.similar_pictures(hash, _SIMILAR_BESIDE + 1))
        similar = [one for one in like if one.picture.id != document_id][:_SIMILAR_BESIDE]
    return render_template(
        "picture.html",
        picture=picture,
        colours=COLOUR_NAMES,
        shown_on=found.pages,
        most_shown=_PAGES_SHOWN,
        similar=similar,
    )


def picture_or_404(id: str, pages: int) -> ShownPicture:
    """Return a picture and at most `pages` pages that show it; raises NotFound without one."""
    shown = archive()
    found = answer_search(lambda: shown.picture(id, pages))
    if found is None:
        raise NotFound(gettext("there is no picture %(id)s in this archive", id=id))
    return found


@blueprint.get("/similar", endpoint="similar")
def show_similar() -> ResponseReturnValue:
    """Show the pictures with hashes similar to a given one, or the upload form."""
    hash = read_hash(request.args)
    found, shown = None, archive()
    if hash is not None:
        found = answer_search(lambda: shown.similar_pictures(hash, SIMILAR_SHOWN))
    return render_template("similar_pictures.html", similar=found)


@blueprint.post("/similar", endpoint="upload")
@open_to_all
def upload_image() -> ResponseReturnValue:
    """Redirect to the pictures similar to an uploaded image, which is not stored."""
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
    """Raise RequestEntityTooLarge for a body of more than `most` bytes, before reading it."""
    if (request.content_length or 0) > most:
        raise RequestEntityTooLarge
    request.max_content_length = most


def hash_of_image(payload: bytes) -> int:
    """Return the perceptual hash of an uploaded image.

    Raises UsageError if it is no image, or a plain area, and EngineBusyError
    if too many are being decoded.
    """
    # Imported here, so that Pillow is loaded only for pictures.
    from nwx.pictures.measures import measured

    with service().scaled.place():
        try:
            hash = measured(payload).hash
        except FormatError as error:
            raise UsageError(error.text) from error
    if hash is None:
        raise UsageError(ErrorText("the image is a uniform area; nothing is similar to it"))
    return hash


MOST_PICTURES_ANSWERED = 1_000

_TEXTS = {"type": "array", "items": TEXT}
_LIMIT = {**COUNT, "maximum": MOST_PICTURES_ANSWERED, "default": 50}

PICTURE_PARAMETERS = (
    Parameter("q", "words about the picture; all must be on one page that shows it"),
    Parameter("size", "how large it is, by the longer side", {"enum": list(ImageSize)}),
    Parameter(
        "colour",
        "a main colour; may be repeated",
        {"type": "array", "items": {"enum": list(COLOURS)}},
    ),
    Parameter("host", "images of one of these hosts; may be repeated", _TEXTS),
    Parameter("domain", "images of one of these domains; may be repeated", _TEXTS),
    Parameter("collection", "measured in one of these collections; may be repeated", _TEXTS),
    Parameter("year", "measured at a capture of one of these years; may be repeated", _TEXTS),
    Parameter("box", "taken within west,south,east,north, in degrees"),
    Parameter("offset", "the pictures to skip", {**COUNT, "default": 0}),
    Parameter("limit", "the pictures to return", _LIMIT),
)
SIMILAR_PARAMETERS = (
    Parameter("hash", "the perceptual hash of an image, 16 hex digits"),
    Parameter("limit", "the pictures to return", _LIMIT),
)

PICTURE_OPERATIONS = (
    Operation(
        "pictures",
        "/api/pictures",
        "Pictures by the text of pages about them, by size and colour",
        PICTURE_PARAMETERS,
        PicturesAnswer,
        example="/api/pictures?q=logo&limit=3",
    ),
    Operation(
        "picture",
        "/api/pictures/{document_id}",
        "A picture, and pages that show it",
        (
            Parameter(
                "document_id",
                "the id of the picture's document",
                {"type": "string", "pattern": "^[0-9a-f]{32}$"},
                place="path",
            ),
        ),
        ShownPictureAnswer,
        errors=NOT_FOUND,
    ),
    Operation(
        "similarPictures",
        "/api/pictures/similar",
        "Pictures that look like an image, by its hash",
        SIMILAR_PARAMETERS,
        SimilarPicturesAnswer,
    ),
    Operation(
        "picturesLikeImage",
        "/api/pictures/similar",
        "Pictures that look like the image in the body of the request, of at most 8 MB",
        (Parameter("limit", "the pictures to return", _LIMIT),),
        SimilarPicturesAnswer,
        errors={**ERRORS, "413": "the image is too long"},
        method="post",
    ),
)


picture_api_blueprint = Blueprint("picture_api", __name__, url_prefix="/api/pictures")

_PAGES_ANSWERED = 1_000


@picture_api_blueprint.get("", endpoint="pictures")
def found_pictures() -> ResponseReturnValue:
    """Answer with the matching pictures."""
    check_parameters(request.args, PICTURE_PARAMETERS)
    offset, limit = parameters.paging(request.args, 50, MOST_PICTURES_ANSWERED, 1)
    question = replace(picture_question(read_pictures(request.args)), offset=offset, limit=limit)
    shown = archive()
    return json_answer(pictures_answer(answer_search(lambda: shown.search_pictures(question))))


@picture_api_blueprint.get(f"/{ID}", endpoint="picture")
def one_picture(document_id: str) -> ResponseReturnValue:
    """Answer with a picture, and pages that show it."""
    found = picture_or_404(document_id, _PAGES_ANSWERED)
    return json_answer(shown_picture_answer(found.picture, found.pages))


@picture_api_blueprint.get("/similar", endpoint="similar")
def pictures_of_hash() -> ResponseReturnValue:
    """Answer with pictures whose hashes are similar to one."""
    check_parameters(request.args, SIMILAR_PARAMETERS)
    hash = read_hash(request.args)
    return _similar(hash) if hash is not None else json_answer(similar_answer([]))


@picture_api_blueprint.post("/similar", endpoint="like_image")
@open_to_all
def pictures_like_image() -> ResponseReturnValue:
    """Answer with pictures similar to the image in the body; the image is not stored."""
    limit_upload(MOST_UPLOADED)
    payload = request.get_data(cache=False)
    if not payload:
        raise UsageError("the body of the request is the image; it is empty")
    return _similar(hash_of_image(payload))


def _similar(hash: int) -> ResponseReturnValue:
    limit = parameters.number_parameter(request.args, "limit", 50, 1, MOST_PICTURES_ANSWERED)
    shown = archive()
    return json_answer(similar_answer(answer_search(lambda: shown.similar_pictures(hash, limit))))
