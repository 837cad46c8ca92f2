"""The pages of pictures: what matches a query, one with the pages that show it, similar ones."""

from collections.abc import Sequence

from flask import Blueprint, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound, RequestEntityTooLarge

from nwx.engine.indices.picture_index import (
    PICTURE_WINDOW,
    Appearance,
    Picture,
    PictureIndex,
    SimilarPicture,
)
from nwx.errors import ErrorText, FormatError, QueryError, UsageError
from webapp.pictures.backend import pictures
from webapp.pictures.picture_view import (
    COLOUR_NAMES,
    IMAGE_SIZES,
    PICTURES_A_PAGE,
    PictureAddresses,
    read_hash,
    read_picture_page,
)
from webapp.search.documents import ID
from webapp.search.page import mark, page_numbers
from webapp.site.context import engine
from webapp.site.question_limits import answer_search
from webapp.users.guards import open_to_all
from webapp.users.own_addresses import check_origin

blueprint = Blueprint("picture_pages", __name__, url_prefix="/pictures")

MOST_UPLOADED = 8 << 20
"""The bytes of an image that similar ones are looked up for."""

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
    limit_upload()
    file = request.files.get("image")
    payload = file.read(MOST_UPLOADED) if file else b""
    if not payload:
        raise UsageError(ErrorText("choose an image file first"))
    return redirect(url_for(".similar", hash=f"{hash_of_image(payload):016x}"), 303)


def limit_upload() -> None:
    """Raise RequestEntityTooLarge for more than MOST_UPLOADED bytes, before they are read."""
    if (request.content_length or 0) > MOST_UPLOADED:
        raise RequestEntityTooLarge
    request.max_content_length = MOST_UPLOADED


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
