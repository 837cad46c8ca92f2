"""The JSON API of pictures: its operations and answers."""

from dataclasses import replace

from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from nwx.errors import UsageError
from nwx.pictures.answers import (
    COLOURS,
    ImageSize,
    PicturesAnswer,
    ShownPictureAnswer,
    SimilarPicturesAnswer,
    pictures_answer,
    shown_picture_answer,
    similar_answer,
)
from webapp.pictures.picture_pages import (
    MOST_UPLOADED,
    hash_of_image,
    limit_upload,
    picture_or_404,
    picture_question,
    read_hash,
    read_pictures,
)
from webapp.search.documents import ID
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.openapi import (
    COUNT,
    ERRORS,
    NOT_FOUND,
    TEXT,
    Operation,
    Parameter,
    check_parameters,
)
from webapp.site.question_limits import answer_search
from webapp.site.responses import json_answer
from webapp.users.login_page import open_to_all

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


blueprint = Blueprint("picture_api", __name__, url_prefix="/api/pictures")

_PAGES_ANSWERED = 1_000


@blueprint.get("", endpoint="pictures")
def found_pictures() -> ResponseReturnValue:
    """Answer with the matching pictures."""
    check_parameters(request.args, PICTURE_PARAMETERS)
    offset, limit = parameters.paging(request.args, 50, MOST_PICTURES_ANSWERED, 1)
    question = replace(picture_question(read_pictures(request.args)), offset=offset, limit=limit)
    shown = archive()
    return json_answer(pictures_answer(answer_search(lambda: shown.search_pictures(question))))


@blueprint.get(f"/{ID}", endpoint="picture")
def one_picture(document_id: str) -> ResponseReturnValue:
    """Answer with a picture, and pages that show it."""
    found = picture_or_404(document_id, _PAGES_ANSWERED)
    return json_answer(shown_picture_answer(found.picture, found.pages))


@blueprint.get("/similar", endpoint="similar")
def pictures_of_hash() -> ResponseReturnValue:
    """Answer with pictures whose hashes are similar to one."""
    check_parameters(request.args, SIMILAR_PARAMETERS)
    hash = read_hash(request.args)
    return _similar(hash) if hash is not None else json_answer(similar_answer([]))


@blueprint.post("/similar", endpoint="like_image")
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
