"""The CDX endpoint that playback asks: the captures of a URL as CDXJ lines."""

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from nwx.errors import UsageError
from nwx.formats.surt import urlkey
from nwx.model import Capture
from webapp import parameters
from webapp.context import engine, service
from webapp.history import nearest

blueprint = Blueprint("cdx", __name__)

MAX_LIMIT = 10_000
REVISIT_MIME = "warc/revisit"


class Order(StrEnum):
    """By time, or the closest to a time first."""

    DEFAULT = "default"
    CLOSEST = "closest"


class MatchType(StrEnum):
    """How a URL selects captures."""

    EXACT = "exact"


@blueprint.get("/cdx")
def captures() -> ResponseReturnValue:
    """Answer with the captures of a URL, by time or the closest to a time first."""
    url = parameters.text(request.args, "url", parameters.MAX_URL)
    if not url:
        raise UsageError("url is missing; write /cdx?url=ADDRESS")
    parameters.choice(request.args, "matchType", MatchType.EXACT)
    order = parameters.choice(request.args, "sort", Order.DEFAULT)
    closest = parameters.text(request.args, "closest", 14)
    limit = parameters.number(request.args, "limit", MAX_LIMIT, 1, MAX_LIMIT)
    stream = engine().captures(urlkey(url))
    if order is Order.CLOSEST and closest:
        chosen = closest_captures(stream, closest, limit)
    else:
        chosen = list(islice(stream, limit))
    places = service().places
    if places:
        places.cover(chosen)
    return Response((cdxj_line(capture) for capture in chosen), mimetype="text/x-cdxj")


def closest_captures(captures: Iterable[Capture], timestamp: str, limit: int) -> list[Capture]:
    """Return the captures closest to a time, with the originals of the revisits among them.

    Whoever plays a revisit looks for a capture of the same digest in the
    same answer, so originals beyond the limit come after the others.
    """
    originals: dict[str, Capture] = {}
    chosen = nearest(_remembering(captures, originals), timestamp, limit)
    present = {capture.digest for capture in chosen if not _is_revisit(capture)}
    wanted = {capture.digest for capture in chosen if _is_revisit(capture)} - present
    return chosen + [originals[digest] for digest in sorted(wanted) if digest in originals]


def _remembering(captures: Iterable[Capture], originals: dict[str, Capture]) -> Iterator[Capture]:
    """Pass captures on and keep the first original of each digest."""
    for capture in captures:
        if not _is_revisit(capture):
            originals.setdefault(capture.digest, capture)
        yield capture


def _is_revisit(capture: Capture) -> bool:
    return capture.record_type == "revisit"


def cdxj_line(capture: Capture) -> str:
    """Return a capture as a line of CDXJ; values are texts, those not known are left out."""
    revisit = _is_revisit(capture)
    status = capture.status_code
    values = {
        "url": capture.url,
        "mime": REVISIT_MIME if revisit else capture.content_type or "unk",
        "status": "" if status is None else str(status),
        "digest": capture.digest,
        "length": "" if capture.record_length is None else str(capture.record_length),
        "offset": str(capture.source_file_offset),
        "filename": capture.source_file,
        "method": "" if capture.method == "GET" else capture.method,
        "collection": capture.collection,
    }
    fields = json.dumps({name: value for name, value in values.items() if value})
    return f"{capture.urlkey} {capture.timestamp} {fields}\n"
