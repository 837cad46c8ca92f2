"""Crawl-time deduplication over HTTP: whether a payload is in the archive, and where."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from flask import Blueprint, Flask, Response, current_app, jsonify, request
from flask.typing import ResponseReturnValue

from nwx.dedup.policies import Fetched, FoundOriginal, Policy, find_original
from nwx.engine.base import Engine
from nwx.errors import DigestError, NwxError, TimestampError, UsageError
from nwx.model import Capture
from nwx.values.digests import normal_digest
from nwx.values.timestamps import normal_timestamp, to_timestamp
from nwx.warc.sources import FilePlaces
from webapp.cdx.operations import DEDUP_PARAMETERS, DedupAnswer
from webapp.cdx.service import cdx_engine
from webapp.site import parameters
from webapp.site.context import ArchivedPlaces
from webapp.site.openapi import check_parameters
from webapp.site.responses import json_answer, status_of

blueprint = Blueprint("dedup", __name__)

_EXTENSION = "nwx-dedup"
_MOST_BYTES = 1 << 50
_MOST_DIGITS = 200


class DuplicateScope(StrEnum):
    """Where originals are looked up: captures of the same URL, or of any URL."""

    URL = "url"
    ANY = "any"


class Truth(StrEnum):
    """A boolean parameter: 1 or 0."""

    YES = "1"
    NO = "0"


def prepare_dedup(app: Flask, engine: Engine, places: ArchivedPlaces | None = None) -> None:
    """Add the route `/dedup`, answered from an engine, to an application.

    `places` registers the files of originals, so that these can be played.
    """
    app.extensions[_EXTENSION] = (FilePlaces(engine.files), places)
    app.register_blueprint(blueprint)


@blueprint.get("/dedup")
def dedup() -> ResponseReturnValue:
    """Answer whether the archive has the payload of a digest, by the requested policy."""
    check_parameters(request.args, DEDUP_PARAMETERS)
    ledger, places = current_app.extensions[_EXTENSION]
    asked = parameters.text(request.args, "digest", _MOST_DIGITS)
    fetched = _fetched(asked)
    finding = find_original(
        cdx_engine().captures_by_digest, fetched, _policy(fetched), ledger.is_there
    )
    if places and finding.original:
        places.cover([(finding.original.collection, finding.original.source_file)])
    return json_answer(_answer(asked, finding))


@blueprint.errorhandler(NwxError)
def _failed(error: NwxError) -> Response:
    """Answer with a JSON error: an outage must not read as "not a duplicate"."""
    status = status_of(error)
    response = jsonify(error={"status": status, "message": str(error)})
    response.status_code = status
    return response


def _fetched(digest: str) -> Fetched:
    if not digest:
        raise UsageError("digest is missing; write /dedup?digest=sha1:…")
    size = parameters.number_parameter(request.args, "size", -1, 0, _MOST_BYTES)
    try:
        return Fetched(
            digest=normal_digest(digest),
            timestamp=_moment(parameters.text(request.args, "at", 30)),
            url=parameters.url(request.args),
            content_type=parameters.text(request.args, "mime").partition(";")[0].strip().lower(),
            content_length=None if size < 0 else size,
        )
    except (DigestError, TimestampError) as error:
        raise UsageError(str(error)) from error


def _moment(text: str) -> str:
    return normal_timestamp(text) if text else to_timestamp(datetime.now(UTC))


def _policy(fetched: Fetched) -> Policy:
    arguments = request.args
    scope = parameters.choice(
        arguments, "scope", DuplicateScope.URL if fetched.url else DuplicateScope.ANY
    )
    if scope is DuplicateScope.URL and not fetched.url:
        raise UsageError("scope=url needs the URL that was fetched; add url=ADDRESS")
    return Policy(
        any_url=scope is DuplicateScope.ANY,
        min_bytes=parameters.number_parameter(arguments, "min_size", 0, 0, _MOST_BYTES),
        mime_in=_listed("types"),
        mime_out=_listed("not_types"),
        max_age_days=_days(parameters.text(arguments, "max_age", 20)),
        collections=_listed("collection", lower=False),
        original_there=parameters.choice(arguments, "there", Truth.NO) is Truth.YES,
    )


def _listed(name: str, *, lower: bool = True) -> tuple[str, ...]:
    """Return the values of a parameter that may be repeated or separated by commas."""
    texts = ",".join(request.args.getlist(name)).split(",")
    found = tuple(text.strip() for text in texts if text.strip())
    if len(found) > parameters.MAX_REPEATED or sum(map(len, found)) > parameters.MAX_VALUE:
        raise UsageError(
            f"{name} has {len(found)} values; at most {parameters.MAX_REPEATED} are allowed"
        )
    return tuple(text.lower() for text in found) if lower else found


def _days(text: str) -> float | None:
    if not text:
        return None
    if not parameters.DECIMAL.fullmatch(text):
        raise UsageError(f"max_age is {text!r}; write a number of days, such as 30 or 0.5")
    return float(text)


def _answer(digest: str, finding: FoundOriginal) -> DedupAnswer:
    """Return the finding as an answer, with the digest spelled as in the request."""
    if finding.original is None:
        return DedupAnswer(False, digest, finding.reason)
    return DedupAnswer(True, digest, **_original(finding.original))


def _original(capture: Capture) -> dict[str, Any]:
    t = capture.timestamp
    return {
        "url": capture.url,
        "timestamp": t,
        "date": f"{t[:4]}-{t[4:6]}-{t[6:8]}T{t[8:10]}:{t[10:12]}:{t[12:]}Z",
        "mime": capture.content_type,
        "status": capture.status_code,
        "size": capture.content_length,
        "collection": capture.collection,
        "filename": capture.source_file,
        "offset": capture.source_file_offset,
        "length": capture.record_length,
    }
