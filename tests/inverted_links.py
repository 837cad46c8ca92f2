"""Links in the folder format of `nwx spark links`, without Spark."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from nwx.keys import precedence
from nwx.links.inverted import (
    INVERTED_DOCUMENTS,
    INVERTED_LINKS,
    INVERTED_NOTES,
    INVERTED_UNMET,
    InvertedLinks,
    InvertedNotes,
)
from nwx.links.parts import clean_anchor, kind_name
from nwx.model import Document
from nwx.values.urlkeys import urlkey

COLUMNS = {
    INVERTED_DOCUMENTS: ("id", "precedence", "urlkey", "url", "refused"),
    INVERTED_LINKS: ("target", "document", "kind", "anchor"),
    INVERTED_UNMET: ("url", "timestamp"),
}

Rows = Sequence[tuple[Any, ...]]


def write_rows(folder: Path, documents: Rows, links: Rows, unmet: Rows = ()) -> Path:
    """Write rows to a complete folder, two thirds of them in the first file; return the folder."""
    for name, rows in zip(COLUMNS, (documents, links, unmet), strict=True):
        inner = folder / name
        inner.mkdir(parents=True)
        cut = len(rows) * 2 // 3
        for number, some in enumerate((rows[:cut], rows[cut:])):
            if some:
                frame = pl.DataFrame(some, schema=COLUMNS[name], orient="row")
                frame.write_parquet(inner / f"part-{number:05}.parquet")
    notes = InvertedNotes(len(documents), len(links), len(unmet))
    (folder / INVERTED_NOTES).write_bytes(notes.to_json())
    (folder / "_SUCCESS").touch()
    return folder


def write_inverted(folder: Path, documents: Iterable[Document], unmet: Rows = ()) -> InvertedLinks:
    """Write the links of documents, each link of a document only once."""
    rows, links = [], set()
    for one in documents:
        id = bytes.fromhex(one.capture.document_id)
        capture = one.capture
        rows.append((id, precedence(capture), capture.urlkey, capture.url, 0))
        links |= {
            (urlkey(url), id, kind_name(kind), clean_anchor(text))
            for url, text, kind in one.extract.links
        }
    in_order = sorted(links, key=lambda row: (row[0].encode(), *row[1:]))
    return InvertedLinks(write_rows(folder, sorted(rows), in_order, unmet))
