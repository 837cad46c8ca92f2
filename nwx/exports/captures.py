"""Captures as Parquet, and search results as CSV, JSON and URLs."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.whole_files import parquet_bytes, whole_folder
from nwx.engine.base import Engine
from nwx.engine.document_index import RESULT_WINDOW
from nwx.errors import UsageError
from nwx.facets.criteria import month_name
from nwx.facets.sources import EXPORT_NOTE, to_table
from nwx.model import Collapse, Hit, IndexName
from nwx.query.question import Question, answered_question
from nwx.searching.answers import answer_to_json, hit_answer
from nwx.values.records import csv_lines

_HELD_ROWS = 400_000
_FILE_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The counts, bytes and duration of an export."""

    captures: int
    months: int
    files: int
    bytes: int
    seconds: float


def export_captures(
    engine: Engine, folder: Path, progress: ShowProgress = no_progress
) -> ExportReport:
    """Write the captures to Parquet files in a new folder, with one subfolder per month.

    The folder appears when it is complete. Raises SourceError if it exists already or cannot be
    written.
    """
    began = time.monotonic()
    with whole_folder(folder) as new:
        writer = _Writer(new)
        store = engine.facet_store()
        # Read the stamp first: captures written meanwhile may be missing in the export.
        note: dict[str, Any] = {"stamp": store.stamp()}
        months = store.month_stamps()
        total = engine.count(IndexName.CAPTURES)
        for entry in engine.scan(IndexName.CAPTURES):
            if writer.add(entry):
                progress(WorkProgress("exporting", writer.captures, total))
        writer.finish()
        # Months with only hidden captures are not in the export.
        note["months"] = {month: one for month, one in months.items() if month in writer.months}
        note["captures"] = writer.captures
        (new / EXPORT_NOTE).write_text(json.dumps(note), encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    seconds = time.monotonic() - began
    return ExportReport(
        writer.captures, len(writer.files), sum(writer.files.values()), size, seconds
    )


class _Writer:
    """Buffers captures and writes them to files by month."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, list[Mapping[str, Any]]] = {}
        self._rows = 0
        self.files: dict[str, int] = {}
        self.months: set[str] = set()
        self.captures = 0

    def add(self, entry: Mapping[str, Any]) -> bool:
        """Add a capture; return whether files were written."""
        month = month_name(entry.get("timestamp"))
        self.months.add(month.replace("-", ""))
        held = self._held.setdefault(month, [])
        held.append(entry)
        self.captures += 1
        self._rows += 1
        if len(held) >= _FILE_ROWS:
            self._write(month)
        elif self._rows >= _HELD_ROWS:
            self._write(max(self._held, key=lambda name: len(self._held[name])))
        else:
            return False
        return True

    def finish(self) -> None:
        """Write the buffered captures."""
        for month in sorted(self._held):
            self._write(month)

    def _write(self, month: str) -> None:
        entries = self._held.pop(month)
        self._rows -= len(entries)
        number = self.files.get(month, 0)
        self.files[month] = number + 1
        path = self._folder / f"month={month}" / f"part-{number:05}.parquet"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(parquet_bytes(to_table(entries)))


RESULTS_AT_ONCE = 500
"""The number of hits per search request."""

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
"""The default columns of a CSV file in order, each with its value for a hit."""

FURTHER_FIELDS: dict[str, _Cell] = {
    "host": lambda hit: hit.host,
    "domain": lambda hit: hit.domain,
    "content_type": lambda hit: hit.content_type,
    "dates": lambda hit: " ".join(hit.dates),
    "score": lambda hit: hit.score,
}
"""Additional columns, on request."""


def checked_fields(names: Sequence[str]) -> tuple[str, ...]:
    """Return distinct field names; raises UsageError on unknown ones."""
    known = RESULT_FIELDS | FURTHER_FIELDS
    for name in names:
        if name not in known:
            raise UsageError.translated(
                "there is no field %(name)s; choose from %(choices)s",
                name=repr(name[:80]),
                choices=", ".join(known),
            )
    return tuple(dict.fromkeys(names))


def all_hits(engine: Engine, question: Question) -> Iterator[Hit]:
    """Yield the hits as listed on pages; if there are more than RESULT_WINDOW, all versions.

    More hits than RESULT_WINDOW are only available as a stream, unsorted and without collapsing.
    """
    found = engine.search(replace(question, offset=0, limit=0))
    total, question = found.total, answered_question(question, lambda: found.most_words)
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
    return csv_lines(names, ([cell(hit) for cell in cells] for hit in hits))


def results_json(hits: Iterable[Hit], fields: Sequence[str] = ()) -> Iterator[str]:
    """Yield the parts of a JSON array with one hit per line: whole hits, or the given fields."""
    cells = {name: (RESULT_FIELDS | FURTHER_FIELDS)[name] for name in fields}
    before = "[\n"
    for hit in hits:
        chosen = {name: cell(hit) for name, cell in cells.items()}
        shown = chosen or answer_to_json(hit_answer(hit))
        yield before + json.dumps(shown, ensure_ascii=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def results_urls(hits: Iterable[Hit], fields: Sequence[str] = ()) -> Iterator[str]:
    """Yield the URLs of hits, one per line."""
    del fields
    for hit in hits:
        yield f"{hit.url}\n"


WriteResults = Callable[[Iterable[Hit], Sequence[str]], Iterator[str]]

RESULT_FORMATS: dict[str, tuple[str, WriteResults]] = {
    "csv": ("text/csv", results_csv),
    "json": ("application/json", results_json),
    "txt": ("text/plain", results_urls),
}
"""The media types and writers of results as text, by file suffix."""
