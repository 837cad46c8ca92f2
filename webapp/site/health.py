"""Whether the service can answer."""

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

import nwx
from nwx.errors import EngineError
from nwx.model import IndexName
from webapp.site.context import service

blueprint = Blueprint("health", __name__)


@blueprint.get("/health")
def health() -> ResponseReturnValue:
    """Answer 200 with the size of the archive, or 503 with the engine's words."""
    found = service()
    try:
        documents = found.engine.count(IndexName.DOCUMENTS)
    except EngineError as error:
        return jsonify(status="unavailable", message=str(error), version=nwx.__version__), 503
    return jsonify(
        status="ok",
        documents=documents,
        replay=found.replays,
        version=nwx.__version__,
    )
