"""Health checks of the service."""

from dataclasses import dataclass
from typing import Any, Literal

from flask import Blueprint, Flask, Response
from flask.typing import ResponseReturnValue
from msgspec import UNSET, UnsetType

import nwx
from nwx.engine.base import Engine
from nwx.errors import EngineError, EngineUnavailableError
from nwx.searching.answers import OptionalCount, OptionalText
from webapp.site.context import ArchiveFolder, Service, archive, service
from webapp.site.responses import json_answer

blueprint = Blueprint("health", __name__)


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """The health of the service; `replay` is whether playback runs."""

    status: Literal["ok", "unavailable"]
    version: str
    documents: OptionalCount = UNSET
    replay: bool | UnsetType = UNSET
    replay_restarts: OptionalCount = UNSET
    replay_message: OptionalText = UNSET
    message: OptionalText = UNSET


@blueprint.get("/health")
def health() -> ResponseReturnValue:
    """Answer 200 with the size of the archive, or 503 with the engine's error.

    `replay` is whether playback runs at this moment.
    """
    found = service()
    try:
        documents = archive().count("documents")
    except EngineError as error:
        away = HealthAnswer("unavailable", nwx.__version__, message=str(error))
        return json_answer(away, 503)
    playing = {"replay": False} if not found.replays else _playback(found)
    answer = HealthAnswer("ok", nwx.__version__, documents, **playing)
    return json_answer(answer)


def answer_shortly(app: Flask, archive: Engine | None) -> None:
    """Add `/health`, with a line of text, to an application without pages."""
    folder = ArchiveFolder(archive) if archive is not None else None

    def answer() -> Response:
        try:
            if folder is not None:
                folder.check()
        except EngineUnavailableError as error:
            return Response(f"{error}\n", 503, mimetype="text/plain")
        return Response("ok\n", mimetype="text/plain")

    app.add_url_rule("/health", "health", answer)


def _playback(found: Service) -> dict[str, Any]:
    state = found.playback()
    told: dict[str, Any] = {"replay": state.running, "replay_restarts": state.restarts}
    return told | ({"replay_message": state.message} if state.message else {})
