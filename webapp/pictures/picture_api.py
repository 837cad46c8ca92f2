"""The JSON API of pictures."""

from dataclasses import replace

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from nwx.errors import UsageError
from nwx.pictures.answers import pictures_answer, shown_picture_answer, similar_answer
from nwx.searching.answers import answer_to_json
from webapp.pictures.picture_operations import (
    MOST_PICTURES_ANSWERED,
    PICTURE_PARAMETERS,
    SIMILAR_PARAMETERS,
)
from webapp.pictures.picture_pages import hash_of_image, limit_upload
from webapp.pictures.picture_view import read_hash, read_picture_question
from webapp.search.documents import ID
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.openapi import check_parameters
from webapp.site.question_limits import answer_search
from webapp.users.guards import open_to_all

blueprint = Blueprint("picture_api", __name__, url_prefix="/api/pictures")

_PAGES_ANSWERED = 1_000


@blueprint.get("", endpoint="pictures")
def found_pictures() -> ResponseReturnValue:
    """Answer with the pictures that match."""
    check_parameters(request.args, PICTURE_PARAMETERS)
    offset = parameters.number_parameter(request.args, "offset", 0, 0, parameters.MAX_OFFSET)
    question = replace(read_picture_question(request.args), offset=offset, limit=_limit())
    index = engine().picture_index()
    return jsonify(answer_to_json(pictures_answer(answer_search(lambda: index.search(question)))))


@blueprint.get(f"/{ID}", endpoint="picture")
def one_picture(document_id: str) -> ResponseReturnValue:
    """Answer with a picture, and pages that show it."""
    index = engine().picture_index()
    picture = index.pictures_of([document_id]).get(document_id)
    if picture is None:
        raise NotFound(f"there is no picture {document_id} in this archive")
    shown = index.appearances_of(document_id, _PAGES_ANSWERED)
    return jsonify(answer_to_json(shown_picture_answer(picture, shown)))


@blueprint.get("/similar", endpoint="similar")
def pictures_of_hash() -> ResponseReturnValue:
    """Answer with pictures whose hashes are like one."""
    check_parameters(request.args, SIMILAR_PARAMETERS)
    hash = read_hash(request.args)
    return _similar(hash) if hash is not None else jsonify(answer_to_json(similar_answer([])))


@blueprint.post("/similar", endpoint="like_image")
@open_to_all
def pictures_like_image() -> ResponseReturnValue:
    """Answer with pictures that look like the image in the body; nothing of it is kept."""
    limit_upload()
    payload = request.get_data(cache=False)
    if not payload:
        raise UsageError("the body of the request is the image; it is empty")
    return _similar(hash_of_image(payload))


def _similar(hash: int) -> ResponseReturnValue:
    index, limit = engine().picture_index(), _limit()
    return jsonify(
        answer_to_json(similar_answer(answer_search(lambda: index.similar(hash, limit))))
    )


def _limit() -> int:
    return parameters.number_parameter(request.args, "limit", 50, 1, MOST_PICTURES_ANSWERED)
