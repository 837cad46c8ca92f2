"""Results of a search as text: CSV and JSON with the fields that are chosen, and URLs."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from nwx.engine.base import Engine
from nwx.engine.document_index import RESULT_WINDOW
from nwx.errors import ErrorText, UsageError
from nwx.model import Collapse, Hit
from nwx.query.question import Question
from nwx.searching.answers import answer_to_json, hit_answer
from nwx.values.csv_cells import csv_line

RESULTS_AT_ONCE = 500
"""So many hits are asked for at once."""

_Cell = Callable[[Hit], object]

RESULT_FIELDS: dict[str, _Cell] = {
    "url": lambda hit: hit.url,
    "title": lambda hit: hit.title,
    "first_date": lambda hit: hit.dates[0] if hit.dates else "",
    "last_date": lambda hit: hit.dates[-1] if hit.dates else "",
    "captures": lambda hit: len(hit.dates),
    "versions": lambda hit: hit.versions,
    "status": lambda hit: "" if hit.status_code is None else hit.status_code,
    "type": lambda hit: hit.content_type_norm,
    "language": lambda hit: hit.content_language,
    "length_bytes": lambda hit: "" if hit.content_length is None else hit.content_length,
    "digest": lambda hit: hit.digest,
    "collections": lambda hit: " ".join(hit.collections),
    "id": lambda hit: hit.id,
}
"""What a column of a CSV file has of a hit, in the order of the columns."""

FURTHER_FIELDS: dict[str, _Cell] = {
    "host": lambda hit: hit.host,
    "domain": lambda hit: hit.domain,
    "content_type": lambda hit: hit.content_type,
    "dates": lambda hit: " ".join(hit.dates),
    "score": lambda hit: hit.score,
}
"""What a column may have besides, where it is asked for."""


def checked_fields(names: Sequence[str]) -> tuple[str, ...]:
    """Return fields by their names, each once; raises UsageError where one is none."""
    known = RESULT_FIELDS | FURTHER_FIELDS
    for name in names:
        if name not in known:
            raise UsageError(
                ErrorText(
                    "there is no field %(name)s; choose of %(choices)s",
                    name=repr(name[:80]),
                    choices=", ".join(known),
                )
            )
    return tuple(dict.fromkeys(names))


def all_hits(engine: Engine, question: Question) -> Iterator[Hit]:
    """Yield the hits as pages list them; every version, in no order, where pages end early.

    Pages reach RESULT_WINDOW hits; only a stream has more, and a stream
    neither sorts nor folds.
    """
    total = engine.search(replace(question, offset=0, limit=0)).total
    if total.value > RESULT_WINDOW or total.relation != "eq":
        yield from engine.scroll(replace(question, collapse=Collapse.NONE))
        return
    for offset in range(0, total.value, RESULTS_AT_ONCE):
        page = replace(question, offset=offset, limit=min(RESULTS_AT_ONCE, RESULT_WINDOW - offset))
        yield from engine.search(page).hits


def results_csv(hits: Iterable[Hit], fields: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of a CSV file that is safe to open in a spreadsheet."""
    names = fields or tuple(RESULT_FIELDS)
    cells = [(RESULT_FIELDS | FURTHER_FIELDS)[name] for name in names]
    yield csv_line(names)
    for hit in hits:
        yield csv_line([cell(hit) for cell in cells])


def results_json(hits: Iterable[Hit], fields: Sequence[str] = ()) -> Iterator[str]:
    """Yield the parts of a JSON array with one hit a line: whole hits, or the fields chosen."""
    cells = {name: (RESULT_FIELDS | FURTHER_FIELDS)[name] for name in fields}
    before = "[\n"
    for hit in hits:
        chosen = {name: cell(hit) for name, cell in cells.items()}
        shown = chosen or answer_to_json(hit_answer(hit))
        yield before + json.dumps(shown, ensure_ascii=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def results_urls(hits: Iterable[Hit], fields: Sequence[str] = ()) -> Iterator[str]:
    """Yield the URLs, one a line."""
    del fields
    for hit in hits:
        yield f"{hit.url}\n"


WriteResults = Callable[[Iterable[Hit], Sequence[str]], Iterator[str]]

RESULT_FORMATS: dict[str, tuple[str, WriteResults]] = {
    "csv": ("text/csv", results_csv),
    "json": ("application/json", results_json),
    "txt": ("text/plain", results_urls),
}
"""The media types of results as text, and what writes them, by the endings of their files."""
