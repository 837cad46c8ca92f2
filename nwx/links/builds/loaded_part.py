"""A part made of links that were inverted elsewhere, for the archive that has their documents.

Links are taken of a document that the archive made from the same capture;
its dates are those that the archive knows. Other documents are left to
those that read the archive itself.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from pathlib import Path

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.engine.base import Engine
from nwx.engine.inlinks.counts import packed_texts
from nwx.engine.inlinks.inlink_index import ID_BYTES
from nwx.errors import ErrorText, SourceError
from nwx.keys import capture_key, document_id
from nwx.links.builds.inverted_parquet import InvertedLinks
from nwx.links.builds.parts import (
    CODED_KINDS,
    OTHER_KIND,
    PART_LINKS,
    LinkPart,
    batches,
    write_part,
)
from nwx.values.urlkeys import urlkey

_AT_ONCE = 5_000
_NOWHERE = -1
_DATES = {"document": pl.UInt32, "timestamp": pl.Int64, "collection": pl.String}


def write_loaded_part(
    folder: Path,
    inverted: InvertedLinks,
    engine: Engine,
    states: pl.DataFrame,
    progress: ShowProgress,
) -> LinkPart:
    """Write a part of the documents that the archive holds as they were inverted.

    `states` has the columns id and state of the archive's documents. Raises
    SourceError where it holds none of them.
    """
    documents = _same_documents(inverted, engine, states)
    if not len(documents) and inverted.notes.documents:
        raise SourceError(
            ErrorText(
                "the archive has no document as it is in %(folder)s; import what the links were "
                "made of first (`nwx import --documents`)",
                folder=inverted.folder,
            )
        )
    frames = {
        "documents": documents.select("id", "state", source="urlkey", url="url", refused="refused"),
        "dates": _dates(engine, documents["id"].to_list()),
    }
    places = IdPlaces(documents["id"].to_list())
    return write_part(folder, frames, _stretches(inverted, places, progress))


def _same_documents(inverted: InvertedLinks, engine: Engine, states: pl.DataFrame) -> pl.DataFrame:
    """Return the documents that the archive made from the same captures, in the order of ids."""
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
    inverted: InvertedLinks, places: "IdPlaces", progress: ShowProgress
) -> Iterator[dict[str, Array]]:
    total, done = inverted.notes.document_links, 0
    last: pl.DataFrame | None = None
    for links in inverted.links(PART_LINKS):
        done += len(links)
        if arrays := stretch_arrays(_without_repeated(links, last, inverted.folder), places):
            yield arrays
        last = links[-1:]
        progress(WorkProgress("loading", done, total))


def _without_repeated(links: pl.DataFrame, last: pl.DataFrame | None, folder: Path) -> pl.DataFrame:
    """Return links without those that are equal to the one before; `last` is before the first.

    Raises SourceError where the linked URLs are not in order.
    """
    before = links.shift(1) if last is None else pl.concat([last, links[:-1]])
    targets = links["target"]
    if (targets < before["target"]).any():
        raise SourceError(
            ErrorText(
                "the links in %(folder)s are not in the order of the linked URLs; "
                "run `nwx spark links` again",
                folder=folder,
            )
        )
    same = [links[name].eq_missing(before[name]) for name in links.columns]
    return links.filter(~reduce(and_, same))


def stretch_arrays(links: pl.DataFrame, places: "IdPlaces") -> dict[str, Array]:
    """Return the arrays of links (target, document, kind, anchor), in the order of their targets.

    Links of documents without a place are left out; no arrays where none is left.
    """
    document = places.find(links["document"])
    there = document != _NOWHERE
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
        "anchor": _codes(links["anchor"], anchors).astype(np.uint32),
        "kind": kind.to_numpy().astype(np.uint8),
    }


def _others(texts: pl.Series, one: str) -> pl.Series:
    found = texts.unique()
    return found.filter(found != one).sort()


def _codes(texts: pl.Series, among: pl.Series) -> Array:
    numbers = pl.DataFrame({"text": among}).with_row_index("number")
    joined = pl.DataFrame({"text": texts}).join(
        numbers, on="text", how="left", maintain_order="left"
    )
    return joined["number"].to_numpy()


class IdPlaces:
    """The places of ids, which are in order, looked up many at a time."""

    def __init__(self, ids: Sequence[bytes]) -> None:
        self._high, self._low = _halves(b"".join(ids))

    def find(self, ids: pl.Series) -> Array:
        """Return the place of each id, -1 where it is not among those known.

        Raises SourceError where one has not the length of an id.
        """
        if (ids.bin.size() != ID_BYTES).any():
            raise SourceError(
                ErrorText("a document's id has another length; run `nwx spark links` again")
            )
        high, low = _halves(b"".join(ids.to_list()))
        found = np.full(len(high), _NOWHERE, dtype=np.int64)
        at = np.searchsorted(self._high, high)
        pending = np.arange(len(high))
        while len(pending := pending[at[pending] < len(self._high)]):
            pending = pending[self._high[at[pending]] == high[pending]]
            same = self._low[at[pending]] == low[pending]
            found[pending[same]] = at[pending[same]]
            # Ids with the same first half lie behind one another.
            pending = pending[~same]
            at[pending] += 1
        return found


def _halves(ids: bytes) -> tuple[Array, Array]:
    numbers = np.frombuffer(ids, ">u8").astype(np.uint64).reshape(-1, 2)
    return np.ascontiguousarray(numbers[:, 0]), np.ascontiguousarray(numbers[:, 1])
