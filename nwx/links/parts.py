"""Parts: the links of some documents on disk, ordered by linked URL.

A part is a folder of tables, written completely or not at all. Its documents are consecutive in
the archive, so that an interrupted build continues after it, and a later build reads only
documents that no part has.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from nwx.bulk.arrays import Array, read_arrays, write_arrays
from nwx.bulk.whole_files import writing
from nwx.engine.inlinks.counts import Texts, chosen_texts, packed_texts
from nwx.engine.inlinks.inlink_index import LinkingDocument
from nwx.errors import UrlError
from nwx.extract.text import clean_line
from nwx.model import ANCHOR_CHARACTERS
from nwx.values.urlkeys import urlkey
from nwx.values.urls import KINDS, present_kind

# Directional marks, which could make a text appear as another one. Joiners,
# which some scripts need, are kept.
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean_anchor(text: str) -> str:
    """Return a shortened anchor text with folded blanks, without control and bidi characters."""
    text = text[: 4 * ANCHOR_CHARACTERS]
    if not text.isascii():
        text = _DIRECTIONS.sub("", text)
    return clean_line(text)[:ANCHOR_CHARACTERS].rstrip()


PART_LINKS = 1 << 20
"""The most links in a part, apart from those of its last document."""

MOST_CHARACTERS = 128 << 20
NO_URLKEY = -1
NOWHERE = -1

_Ints = npt.NDArray[np.int64]
_UNFINISHED = ".unfinished"
_LINKS = "links"
OTHER_KIND = "other"
CODED_KINDS = (OTHER_KIND, *KINDS)
"""The kinds of links by code; all others are OTHER_KIND."""


class _TargetCodes(dict[str, int]):
    """Codes of linked URLs, computed on first access; NO_URLKEY for invalid URLs."""

    def __init__(self) -> None:
        super().__init__()
        self.keys_found: dict[str, int] = {}

    def __missing__(self, url: str) -> int:
        try:
            key = urlkey(url)
            key.encode()
        except (UrlError, UnicodeEncodeError):
            code = NO_URLKEY
        else:
            code = self.keys_found.setdefault(key, len(self.keys_found))
        self[url] = code
        return code


class _AnchorCodes(dict[str, int]):
    """Codes of anchor texts as documents store them; 0 is no text."""

    def __init__(self) -> None:
        super().__init__({"": 0})
        self.texts: dict[str, int] = {"": 0}

    def __missing__(self, raw: str) -> int:
        text = clean_anchor(raw)
        code = self.texts.setdefault(text, len(self.texts))
        self[raw] = code
        return code


class _KindCodes(dict[str, int]):
    """Codes of link kinds as documents store them, including kinds of older archives."""

    def __missing__(self, kind: str) -> int:
        name = present_kind(kind)
        code = CODED_KINDS.index(name) if name in CODED_KINDS else 0
        if len(self) < _KINDS_HELD:
            self[kind] = code
        return code


_KINDS_HELD = 1_000
_KIND_CODES = _KindCodes()


def kind_name(kind: str) -> str:
    """Return the kind that a link of a document is counted as."""
    return CODED_KINDS[_KIND_CODES[kind]]


class PartDraft:
    """Collects documents with their links for a part."""

    def __init__(self) -> None:
        self.links = 0
        self.characters = 0
        self._targets, self._anchors = _TargetCodes(), _AnchorCodes()
        self._documents: list[tuple[bytes, int, str, str]] = []
        self._dates: list[tuple[int, int, str]] = []
        self._target_codes: list[int] = []
        self._anchor_codes: list[int] = []
        self._kind_codes: list[int] = []
        self._counts: list[int] = []

    def __len__(self) -> int:
        return len(self._documents)

    def is_full(self) -> bool:
        """Return whether the part is large enough."""
        return self.links >= PART_LINKS or self.characters >= MOST_CHARACTERS

    def add(self, document: LinkingDocument, state: int) -> None:
        """Add a document with its state."""
        number = len(self._documents)
        self._documents.append((document.id, state, document.urlkey, document.url))
        self._dates += [(number, int(time), name) for time, name in document.seen]
        self._target_codes += map(self._targets.__getitem__, document.links)
        self._anchor_codes += map(self._anchors.__getitem__, document.texts)
        self._kind_codes += map(_KIND_CODES.__getitem__, document.kinds)
        self._counts.append(len(document.links))
        self.links += len(document.links)
        self.characters += sum(map(len, document.links)) + sum(map(len, document.texts))

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return the tables of the part: documents, and their dates."""
        target = np.array(self._target_codes, dtype=np.int64)
        document = np.repeat(np.arange(len(self._counts)), self._counts)
        refused = np.bincount(document[target == NO_URLKEY], minlength=len(self))
        schema = {"document": pl.UInt32, "timestamp": pl.Int64, "collection": pl.String}
        return {
            "documents": self._document_frame(refused),
            "dates": pl.DataFrame(self._dates, schema=schema, orient="row"),
        }

    def arrays(self) -> dict[str, Array]:
        """Return the links of the part, ordered by target, with packed urlkeys and texts."""
        target = np.array(self._target_codes, dtype=np.int64)
        document = np.repeat(np.arange(len(self._counts)), self._counts)
        kind = np.array(self._kind_codes, dtype=np.uint8)
        anchor = np.array(self._anchor_codes, dtype=np.uint32)
        keys, places = self._sorted_keys()
        there = np.flatnonzero(target != NO_URLKEY)
        target = places[target[there]]
        order = np.argsort(target.astype(np.uint64) << np.uint64(32)
                           | document[there].astype(np.uint64), kind="stable")  # fmt: skip
        target, there = target[order], there[order]
        document, kind, anchor = document[there], kind[there], anchor[there]
        kept = ~_repeated(target, document, anchor.astype(np.int64) << 8 | kind)
        return {
            **packed_texts(keys.to_list(), "key"),
            **packed_texts(list(self._anchors.texts), "anchor"),
            "link_starts": np.searchsorted(target[kept], np.arange(len(keys) + 1)),
            "document": document[kept].astype(np.uint32),
            "anchor": anchor[kept],
            "kind": kind[kept],
        }

    def _sorted_keys(self) -> tuple[pl.Series, _Ints]:
        """Return the sorted urlkeys, and the index in them by code."""
        keys = pl.Series(list(self._targets.keys_found), dtype=pl.String)
        order = keys.arg_sort().to_numpy()
        places = np.zeros(len(keys), dtype=np.int64)
        places[order] = np.arange(len(keys))
        return keys.gather(order), places

    def _document_frame(self, refused: npt.NDArray[np.int64]) -> pl.DataFrame:
        schema = {"id": pl.Binary, "state": pl.UInt64, "source": pl.String, "url": pl.String}
        frame = pl.DataFrame(self._documents, schema=schema, orient="row")
        return frame.with_columns(refused=pl.Series(refused, dtype=pl.UInt32))


def _repeated(target: _Ints, document: _Ints, link: _Ints) -> npt.NDArray[np.bool_]:
    """Return which links repeat another of the same document and target; both are sorted."""
    same = np.zeros(len(target) + 1, dtype=bool)
    same[1:-1] = (target[1:] == target[:-1]) & (document[1:] == document[:-1])
    several = np.flatnonzero(same[1:] | same[:-1])
    order = several[np.lexsort((link[several], document[several], target[several]))]
    repeated = np.zeros(len(target), dtype=bool)
    equal = np.ones(max(0, len(order) - 1), dtype=bool)
    for column in (target, document, link):
        equal &= column[order][1:] == column[order][:-1]
    repeated[order[1:][equal]] = True
    return repeated


class LinkStretch:
    """Links of a part on disk, ordered by target and mapped into memory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The columns of the links, the start of each target's links, and packed texts."""
        return read_arrays(self._path)

    @cached_property
    def keys(self) -> Texts:
        """The urlkeys of the targets, in order."""
        return Texts(self.arrays, "key")

    def span(self, first: str, last: str | None) -> tuple[int, int]:
        """Return the range of targets from urlkey `first` to before `last`; (0, 0) if empty."""
        begin = self.keys.place(first) if first else 0
        end = len(self.keys) if last is None else self.keys.place(last)
        return (begin, end) if begin < end else (0, 0)

    def anchors(self, numbers: Array) -> list[str]:
        """Return the anchor texts of some numbers."""
        return Texts(chosen_texts(self.arrays, numbers, "anchor"), "anchor").all()


class LinkPart:
    """A part on disk: tables of documents and their dates, and stretches of their links."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def table(self, name: str) -> pl.DataFrame:
        """Read the table `documents` or `dates`."""
        return pl.read_ipc(self.folder / f"{name}.arrow")

    @cached_property
    def stretches(self) -> list[LinkStretch]:
        """The links; `document` is an index in the table of documents."""
        return [LinkStretch(path) for path in sorted(self.folder.glob(f"{_LINKS}*"))]

    def remove(self) -> None:
        """Delete the part."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_parts(
    folder: Path, documents: Iterable[LinkingDocument], states: dict[bytes, int]
) -> int:
    """Write the links of documents as parts into a folder; return the number of documents.

    `states` maps document ids to states.
    """
    count = 0
    draft = PartDraft()
    for document in documents:
        draft.add(document, states[document.id])
        count += 1
        if draft.is_full():
            write_part(folder, draft.frames(), [draft.arrays()])
            draft = PartDraft()
    if len(draft):
        write_part(folder, draft.frames(), [draft.arrays()])
    return count


def write_part(
    folder: Path, frames: Mapping[str, pl.DataFrame], stretches: Iterable[Mapping[str, Array]]
) -> LinkPart:
    """Write tables and links as a part with a new name, atomically."""
    name = os.urandom(8).hex()
    unfinished = folder / f"{name}{_UNFINISHED}"
    try:
        with writing(unfinished):
            unfinished.mkdir(parents=True)
            for table, frame in frames.items():
                frame.write_ipc(unfinished / f"{table}.arrow", compression="uncompressed")
            for number, arrays in enumerate(stretches):
                write_arrays(unfinished / f"{_LINKS}-{number:06d}.arrays", arrays)
            unfinished.rename(folder / name)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return LinkPart(folder / name)


def found_parts(folder: Path) -> list[LinkPart]:
    """Return the parts of a folder; unfinished ones are deleted."""
    if not folder.is_dir():
        return []
    for path in folder.glob(f"*{_UNFINISHED}"):
        shutil.rmtree(path, ignore_errors=True)
    return [LinkPart(path) for path in sorted(folder.iterdir())]


def places_in(values: pl.Series, among: pl.Series) -> Array:
    """Return the index of each value in distinct others, NOWHERE if it is missing."""
    places = pl.DataFrame({"value": among}).with_row_index("place")
    asked = pl.DataFrame({"value": values})
    found = asked.join(places, on="value", how="left", maintain_order="left")["place"]
    return found.cast(pl.Int64).fill_null(NOWHERE).to_numpy()
