"""Common Crawl's columnar index as Parquet files, from an archive or from CDX lines."""

import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import polars as pl

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.sorted_file import LineBatch
from nwx.bulk.whole_files import whole_folder
from nwx.captures import CaptureColumns
from nwx.cdx.blocks import start_of
from nwx.cdx.inputs import CdxSource
from nwx.cdx.layouts import LAYOUTS
from nwx.engine.base import Engine
from nwx.errors import CdxError, UsageError
from nwx.exports.cc_index import (
    CAPTURE_COLUMNS,
    captures_frame,
    cc_index_rows,
    cc_index_schema,
    lines_frame,
)
from nwx.keys import document_ids
from nwx.model import STANDARD_INPUT

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS_AT_ONCE = 20_000
_GROUP_ROWS = 50_000
_HELD_ROWS = 75_000
_PROBLEMS_LISTED = 100
_PARTITIONS = ("crawl", "subset")
_SORTED_TEXTS = ("url_surtkey", "url", "url_path")
_NO_DICTIONARY = (
    *_SORTED_TEXTS,
    "url_query",
    "fetch_time",
    "content_digest",
    "warc_record_offset",
    "warc_record_length",
)


@dataclass(slots=True)
class CcIndexReport:
    """The counts of an export; `problems_total` is the number of skipped captures and lines."""

    rows: int = 0
    files: int = 0
    bytes: int = 0
    seconds: float = 0.0
    problems_total: int = 0
    problems: list[CdxError] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def add_problem(self, problem: CdxError) -> None:
        """Count a skipped line; the first ones are listed."""
        self.problems_total += 1
        if len(self.problems) < _PROBLEMS_LISTED:
            self.problems.append(problem)


Frames = Callable[[CcIndexReport], Iterable[pl.DataFrame]]


def write_cc_index(
    folder: Path, frames: Frames, crawl: str, progress: ShowProgress = no_progress, total: int = 0
) -> CcIndexReport:
    """Write captures, ordered by urlkey, into a new folder, which appears when complete.

    Their crawl is that in a Common Crawl file name, else `crawl`, else the collection. Raises
    SourceError if the folder exists or cannot be written, UsageError without pyarrow.
    """
    began = time.monotonic()
    report = CcIndexReport()
    with whole_folder(folder) as new:

        def new_file(name: str) -> IO[bytes]:
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open("wb")

        with CcIndexWriter(new_file, crawl, report) as writer:
            for frame in frames(report):
                writer.add(frame)
                progress(WorkProgress("exporting", report.rows, total))
        report.bytes = sum(path.stat().st_size for path in new.rglob("*.parquet"))
    return replace(report, seconds=time.monotonic() - began)


def check_layouts(sources: Iterable[CdxSource]) -> None:
    """Raise UsageError on a file whose fields are not those of a known CDX format or CDXJ."""
    for source in sources:
        if source.path != STANDARD_INPUT:
            letters = start_of(source).clean.letters
            usual = LAYOUTS.get(len(letters))
            if usual is None or usual.letters[1:] != letters[1:]:
                raise UsageError(f"{source.shown} has the fields {' '.join(letters)}")


def archive_frames(engine: Engine) -> Iterator[pl.DataFrame]:
    """Yield the captures of an archive, with the languages of their documents."""
    languages = DocumentLanguages(engine)
    for columns in engine.capture_columns(CAPTURE_COLUMNS):
        yield captures_frame(columns, languages.of_columns(columns))


def frames_of_lines(
    lines: Iterable[LineBatch], on_error: Callable[[CdxError], None]
) -> Iterator[pl.DataFrame]:
    """Yield sorted CDX lines as frames."""
    held: LineBatch = []
    for batch in lines:
        held += batch
        if len(held) >= _ROWS_AT_ONCE:
            yield lines_frame(held, on_error)
            held = []
    if held:
        yield lines_frame(held, on_error)


class CcIndexWriter(AbstractContextManager["CcIndexWriter"]):
    """Writes frames of captures to Parquet files, in a folder for each crawl and subset.

    `new_file` opens a file by name; `part` is the number of the files. At most 75,000 rows are
    buffered.
    """

    def __init__(
        self,
        new_file: "Callable[[str], AbstractContextManager[IO[bytes]]]",
        crawl: str,
        report: CcIndexReport,
        part: int = 0,
    ) -> None:
        schema = cc_index_schema()
        self._schema = schema.remove(len(schema) - 1).remove(len(schema) - 2)
        self._new_file, self._crawl, self._report = new_file, crawl, report
        self._name = f"part-{part:05}.parquet"
        self._held: dict[tuple[str, ...], list[pl.DataFrame]] = {}
        self._rows: Counter[tuple[str, ...]] = Counter()
        self._writers: dict[tuple[str, ...], pq.ParquetWriter] = {}
        self._open = ExitStack()

    def __exit__(self, *error: Any) -> None:
        with ExitStack() as closing:
            closing.push(self._open)  # after an error, no file remains
            if error[1] is not None:
                raise error[1]
            for place in sorted(self._held):
                self._write(place)

    def add(self, found: pl.DataFrame) -> None:
        """Add captures; those that the index cannot represent go to the report."""
        rows, left_out = cc_index_rows(found, self._crawl)
        places = left_out["urlkey", "timestamp", "filename", "offset"].iter_rows()
        for key, timestamp, file, offset in places:
            reason = f"invalid timestamp, or an offset past 2 GiB: {timestamp}, {file} at {offset}"
            self._report.add_problem(CdxError(f"{str(key)[:80]}: {reason}"))
        self._report.rows += len(rows)
        parts = rows.partition_by(_PARTITIONS, include_key=False, as_dict=True)
        for place, part in parts.items():
            self._held.setdefault(place, []).append(part)
            self._rows[place] += len(part)
            if self._rows[place] >= _GROUP_ROWS:
                self._write(place)
        while self._rows.total() >= _HELD_ROWS:
            self._write(self._rows.most_common(1)[0][0])

    def _write(self, place: tuple[str, ...]) -> None:
        frame = pl.concat(self._held.pop(place))
        del self._rows[place]
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(self._schema)
        self._writer(place).write_table(table)

    def _writer(self, place: tuple[str, ...]) -> "pq.ParquetWriter":
        if place not in self._writers:
            import pyarrow.parquet as pq

            values = zip(_PARTITIONS, place, strict=True)
            folder = "/".join(f"{name}={quote(value, safe=' ')}" for name, value in values)
            stream = self._open.enter_context(self._new_file(f"{folder}/{self._name}"))
            self._writers[place] = self._open.enter_context(
                pq.ParquetWriter(
                    stream,
                    self._schema,
                    compression="zstd",
                    use_dictionary=[n for n in self._schema.names if n not in _NO_DICTIONARY],
                    column_encoding=dict.fromkeys(_SORTED_TEXTS, "DELTA_BYTE_ARRAY"),
                )
            )
            self._report.files += 1
        return self._writers[place]


class DocumentLanguages:
    """The languages of all documents in memory, ten bytes per document."""

    def __init__(self, engine: Engine) -> None:
        codes, names = array("H"), {"": 0}
        ids = array("Q")
        for id, language in engine.document_languages():
            ids.append(id)
            codes.append(names.setdefault(language, len(names)))
        self._names = np.array(list(names), dtype=object)
        found = np.frombuffer(ids, np.uint64) if ids else np.empty(0, np.uint64)
        order = np.argsort(found)
        self._ids = found[order]
        self._codes = np.frombuffer(codes, np.uint16)[order] if ids else np.empty(0, np.uint16)

    def of_columns(self, columns: CaptureColumns) -> list[str]:
        """Return the languages of captures by URL and digest, "" if unknown."""
        if not len(self._ids):
            return [""] * len(columns["url"])
        pairs = zip(columns["url"], columns["digest"], strict=True)
        whole = document_ids([f"{url} {digest}" for url, digest in pairs])
        ids = np.frombuffer(whole, ">u8")[::2].astype(np.uint64) >> np.uint64(1)
        places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        found = np.where(self._ids[places] == ids, self._codes[places], 0)
        languages: list[str] = self._names[found].tolist()
        return languages
