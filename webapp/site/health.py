"""Whether the service can answer."""

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

import nwx
from nwx.errors import EngineError
from nwx.model import IndexName
from webapp.site.context import Service, service

blueprint = Blueprint("health", __name__)


@blueprint.get("/health")
def health() -> ResponseReturnValue:
    """Answer 200 with the size of the archive, or 503 with the engine's words.

    `replay` tells whether captures can be played at this moment.
    """
    found = service()
    try:
        documents = found.engine.count(IndexName.DOCUMENTS)
    except EngineError as error:
        return jsonify(status="unavailable", message=str(error), version=nwx.__version__), 503
    return jsonify(
        status="ok",
        documents=documents,
        **_playback(found),
        version=nwx.__version__,
    )


def _playback(found: Service) -> dict[str, object]:
    if not found.replays:
        return {"replay": False}
    state = found.playback()
    told: dict[str, object] = {"replay": state.running, "replay_restarts": state.restarts}
    return told | ({"replay_message": state.message} if state.message else {})
