"""Results as files: CSV, JSON, a list of URLs."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from nwx.engine.base import Engine
from nwx.engine.document_index import RESULT_WINDOW
from nwx.model import Collapse, Hit
from nwx.query.question import Question
from nwx.searching.answers import answer_to_json, hit_answer
from nwx.values.csv_cells import csv_line
from webapp.search.addresses import read_page
from webapp.site.context import engine, preferences
from webapp.site.question_limits import Export, answer_search

blueprint = Blueprint("exports", __name__, url_prefix="/export")

BATCH = 500
_COLUMNS = (
    "url",
    "title",
    "first_date",
    "last_date",
    "captures",
    "versions",
    "status",
    "type",
    "language",
    "length_bytes",
    "digest",
    "collections",
    "id",
)


@blueprint.get("/results.<suffix>", endpoint="results")
def export_results(suffix: str) -> ResponseReturnValue:
    """Stream the results of a search as they are listed, those beyond the last page too."""
    if suffix not in FORMATS:
        raise NotFound(f"results come as {', '.join(FORMATS)}, not as {suffix!r}")
    mimetype, write = FORMATS[suffix]
    question = replace(read_page(request.args, preferences()), snippets=False)
    hits = all_hits(engine(), question)
    export = Export()
    try:
        # The first hit is read before the answer begins, so that an error can still be told.
        first = answer_search(lambda: list(islice(hits, 1)))
    except BaseException:
        export.end()
        raise
    headers = {"Content-Disposition": f'attachment; filename="results.{suffix}"'}
    response = Response(
        export.pieces(write(chain(first, hits))), mimetype=mimetype, headers=headers
    )
    response.call_on_close(export.end)
    return response


def all_hits(engine: Engine, question: Question) -> Iterator[Hit]:
    """Yield the hits as the pages list them; every version, in no order, where pages end early.

    Pages reach RESULT_WINDOW hits; only a stream has more, and a stream
    neither sorts nor folds.
    """
    total = engine.search(replace(question, offset=0, limit=0)).total
    if total.value > RESULT_WINDOW or total.relation != "eq":
        yield from engine.scroll(replace(question, collapse=Collapse.NONE))
        return
    for offset in range(0, total.value, BATCH):
        page = replace(question, offset=offset, limit=min(BATCH, RESULT_WINDOW - offset))
        yield from engine.search(page).hits


def as_csv(hits: Iterable[Hit]) -> Iterator[str]:
    """Yield the lines of a CSV file that is safe to open in a spreadsheet."""
    yield csv_line(_COLUMNS)
    for hit in hits:
        yield csv_line(_cells(hit))


def _cells(hit: Hit) -> list[object]:
    return [
        hit.url,
        hit.title,
        hit.dates[0] if hit.dates else "",
        hit.dates[-1] if hit.dates else "",
        len(hit.dates),
        hit.versions,
        "" if hit.status_code is None else hit.status_code,
        hit.content_type_norm,
        hit.content_language,
        "" if hit.content_length is None else hit.content_length,
        hit.digest,
        " ".join(hit.collections),
        hit.id,
    ]


def as_json(hits: Iterable[Hit]) -> Iterator[str]:
    """Yield the parts of a JSON array with one hit a line."""
    before = "[\n"
    for hit in hits:
        yield before + json.dumps(answer_to_json(hit_answer(hit)), ensure_ascii=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def as_urls(hits: Iterable[Hit]) -> Iterator[str]:
    """Yield the URLs, one a line."""
    for hit in hits:
        yield f"{hit.url}\n"


FORMATS: dict[str, tuple[str, Callable[[Iterable[Hit]], Iterator[str]]]] = {
    "csv": ("text/csv", as_csv),
    "json": ("application/json", as_json),
    "txt": ("text/plain", as_urls),
}
