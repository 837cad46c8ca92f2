"""Loading of inverted links (Parquet files of `nwx spark links`) as a part of a build."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.bulk.progress import ShowProgress, WorkProgress, batches
from nwx.engine.base import Engine
from nwx.engine.inlinks.counts import packed_texts
from nwx.engine.inlinks.inlink_index import ID_BYTES
from nwx.errors import ErrorText, SourceError, system_reason
from nwx.keys import capture_key, document_id
from nwx.links.parts import (
    CODED_KINDS,
    NOWHERE,
    OTHER_KIND,
    PART_LINKS,
    LinkPart,
    places_in,
    write_part,
)
from nwx.values.urlkeys import urlkey

INVERTED_NOTES = "links.json"
INVERTED_DOCUMENTS = "documents"
INVERTED_LINKS = "document_links"
INVERTED_UNMET = "unmet"
INVERTED_FORMAT = 1

_SUCCESS_FILE = "_SUCCESS"
_ADVICE = ErrorText("run `nwx spark links` of this version")
_SCHEMAS: dict[str, dict[str, Any]] = {
    INVERTED_DOCUMENTS: {
        "id": pl.Binary,
        "precedence": pl.Int64,
        "urlkey": pl.String,
        "url": pl.String,
        "refused": pl.Int64,
    },
    INVERTED_LINKS: {
        "target": pl.String,
        "document": pl.Binary,
        "kind": pl.String,
        "anchor": pl.String,
    },
    INVERTED_UNMET: {"url": pl.String, "timestamp": pl.String},
}


@dataclass(frozen=True, slots=True)
class InvertedNotes:
    """The numbers of rows in the files of inverted links."""

    documents: int
    document_links: int
    unmet: int
    format: int = INVERTED_FORMAT

    def to_json(self) -> bytes:
        """Return the notes as JSON."""
        return json.dumps(asdict(self)).encode()


class InvertedLinks:
    """Inverted links in a folder; raises SourceError if they cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / _SUCCESS_FILE).exists():
            raise SourceError.translated(
                "%(folder)s is not a complete output of `nwx spark links`: it has no %(file)s",
                folder=folder,
                file=_SUCCESS_FILE,
            )
        with self._reading(INVERTED_NOTES):
            found = json.loads((folder / INVERTED_NOTES).read_text(encoding="utf-8"))
            if found["format"] != INVERTED_FORMAT:
                raise SourceError.translated(
                    "%(folder)s has format %(found)s, this nwx reads %(read)s; %(advice)s",
                    folder=folder,
                    found=str(found["format"]),
                    read=str(INVERTED_FORMAT),
                    advice=_ADVICE,
                )
            self.notes = InvertedNotes(**found)

    def documents(self) -> pl.DataFrame:
        """Return the documents: id, precedence, urlkey, URL, number of links without urlkey."""
        frames = list(self._tables(INVERTED_DOCUMENTS, self.notes.documents))
        schema = _SCHEMAS[INVERTED_DOCUMENTS]
        return pl.concat([pl.DataFrame(schema=schema), *frames])

    def links(self, rows: int) -> Iterator[pl.DataFrame]:
        """Yield links, `rows` at a time: linked urlkey, id of the document, kind, anchor."""
        held: list[pl.DataFrame] = []
        for frame in self._tables(INVERTED_LINKS, self.notes.document_links, rows):
            held.append(frame)
            while sum(map(len, held)) >= rows:
                together = pl.concat(held)
                yield together[:rows]
                held = [together[rows:]]
        if sum(map(len, held)):
            yield pl.concat(held)

    def unmet(self) -> Iterator[tuple[str, str]]:
        """Yield URL and timestamp of captures missing in the file that has their outlinks."""
        for frame in self._tables(INVERTED_UNMET, self.notes.unmet):
            yield from frame.iter_rows()

    def _tables(
        self, name: str, expected: int, at_once: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows of a folder's files in order; raises SourceError on another number."""
        columns = [pl.col(column).cast(kind) for column, kind in _SCHEMAS[name].items()]
        read = 0
        with self._reading(name):
            for path in sorted((self.folder / name).glob("*.parquet")):
                rows = pl.scan_parquet(path).select(columns)
                size = rows.select(pl.len()).collect().item()
                for begin in range(0, size, at_once or size):
                    frame = rows.slice(begin, at_once).collect()
                    if sum(frame.null_count().row(0)):
                        raise SourceError.translated(
                            "%(path)s has a row without a value; %(advice)s",
                            path=path,
                            advice=_ADVICE,
                        )
                    yield frame
                read += size
            if read != expected:
                raise SourceError.translated(
                    "%(path)s has %(read)s rows, its notes say %(expected)s; %(advice)s",
                    path=self.folder / name,
                    read=read,
                    expected=expected,
                    advice=_ADVICE,
                )

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
            words = str(system_reason(error)).strip().splitlines()[:1] or [type(error).__name__]
            raise SourceError.translated(
                "%(path)s cannot be read: %(reason)s; %(advice)s",
                path=self.folder / name,
                reason=words[0],
                advice=_ADVICE,
            ) from error


_AT_ONCE = 5_000
_DATES = {"document": pl.UInt32, "timestamp": pl.Int64, "collection": pl.String}


def write_loaded_part(
    folder: Path,
    inverted: InvertedLinks,
    engine: Engine,
    states: pl.DataFrame,
    progress: ShowProgress,
) -> LinkPart:
    """Write a part of the inverted documents that are unchanged in the archive.

    `states` has the columns id and state of the archive's documents. Raises SourceError if the
    archive has none of them.
    """
    documents = _same_documents(inverted, engine, states)
    if not len(documents) and inverted.notes.documents:
        raise SourceError.translated(
            "the archive has none of the documents in %(folder)s; import what the links were "
            "made from first (`nwx import --documents`)",
            folder=inverted.folder,
        )
    frames = {
        "documents": documents.select("id", "state", source="urlkey", url="url", refused="refused"),
        "dates": _dates(engine, documents["id"].to_list()),
    }
    return write_part(folder, frames, _stretches(inverted, documents["id"], progress))


def _same_documents(inverted: InvertedLinks, engine: Engine, states: pl.DataFrame) -> pl.DataFrame:
    """Return the documents that the archive made from the same captures, ordered by id."""
    found = inverted.documents().join(states, on="id").unique("id").sort("id")
    precedence: list[int | None] = []
    for ids in batches(found["id"].to_list(), _AT_ONCE):
        names = [id.hex() for id in ids]
        known = engine.known(names)
        precedence += [known.get(name) for name in names]
    same = found["precedence"] == pl.Series(precedence, dtype=pl.Int64)
    met_elsewhere = pl.Series(list(_of_unmet(inverted, engine)), dtype=pl.Binary)
    same &= ~found["id"].is_in(met_elsewhere.implode())
    return found.filter(same).with_columns(pl.col("refused").cast(pl.UInt32))


def _of_unmet(inverted: InvertedLinks, engine: Engine) -> Iterator[bytes]:
    """Yield the ids of documents whose outlinks the archive may have found in another file."""
    for url, timestamp in inverted.unmet():
        for capture in engine.captures(urlkey(url)):
            if (capture.url, capture.timestamp) == (url, timestamp) and capture.document_id:
                yield bytes.fromhex(capture.document_id)
                yield bytes.fromhex(document_id(capture_key(capture)))


def _dates(engine: Engine, ids: Sequence[bytes]) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=_DATES)]
    first = 0
    for some in batches(ids, _AT_ONCE):
        names = [id.hex() for id in some]
        known = engine.dates(names)
        rows = [
            (number, int(timestamp), collection)
            for number, name in enumerate(names, first)
            if name in known
            for timestamp, collection in known[name].seen
        ]
        frames.append(pl.DataFrame(rows, schema=_DATES, orient="row"))
        first += len(some)
    return pl.concat(frames)


def _stretches(
    inverted: InvertedLinks, ids: pl.Series, progress: ShowProgress
) -> Iterator[dict[str, Array]]:
    total, done = inverted.notes.document_links, 0
    last: pl.DataFrame | None = None
    for links in inverted.links(PART_LINKS):
        done += len(links)
        if arrays := stretch_arrays(_without_repeated(links, last, inverted.folder), ids):
            yield arrays
        last = links[-1:]
        progress(WorkProgress("loading", done, total))


def _without_repeated(links: pl.DataFrame, last: pl.DataFrame | None, folder: Path) -> pl.DataFrame:
    """Return links without adjacent duplicates; `last` is the link before the first.

    Raises SourceError if the linked URLs are not in order.
    """
    before = links.shift(1) if last is None else pl.concat([last, links[:-1]])
    targets = links["target"]
    if (targets < before["target"]).any():
        raise SourceError.translated(
            "the links in %(folder)s are not sorted by linked URL; run `nwx spark links` again",
            folder=folder,
        )
    same = [links[name].eq_missing(before[name]) for name in links.columns]
    return links.filter(~reduce(and_, same))


def stretch_arrays(links: pl.DataFrame, ids: pl.Series) -> dict[str, Array]:
    """Return the arrays of links (target, document, kind, anchor), ordered by target.

    `document` is the index of the document's id in `ids`; links of other documents are left out.
    Returns {} if no links remain. Raises SourceError if an id has the wrong length.
    """
    if (links["document"].bin.size() != ID_BYTES).any():
        raise SourceError.translated(
            "a document id has the wrong length; run `nwx spark links` again"
        )
    document = places_in(links["document"], ids)
    there = document != NOWHERE
    links, document = links.filter(pl.Series(there)), document[there]
    if not len(links):
        return {}
    runs = links["target"].rle_id()
    keys = links["target"].unique(maintain_order=True)
    anchors = pl.concat([pl.Series([""]), _others(links["anchor"], "")])
    kind = links["kind"].replace_strict(
        list(CODED_KINDS), list(range(len(CODED_KINDS))), default=CODED_KINDS.index(OTHER_KIND)
    )
    return {
        **packed_texts(keys.to_list(), "key"),
        **packed_texts(anchors.to_list(), "anchor"),
        "link_starts": np.searchsorted(runs.to_numpy(), np.arange(len(keys) + 1)),
        "document": document.astype(np.uint32),
        "anchor": places_in(links["anchor"], anchors).astype(np.uint32),
        "kind": kind.to_numpy().astype(np.uint8),
    }


def _others(texts: pl.Series, one: str) -> pl.Series:
    found = texts.unique()
    return found.filter(found != one).sort()
