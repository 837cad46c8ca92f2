"""Captures read by a build, stored on disk in parts, so that a stopped build can resume."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nwx.bulk.arrays import Array, narrow, read_arrays, write_arrays
from nwx.facets.codes import LABEL_TABLES, CaptureCodes, DenseNumbers, Labels
from nwx.facets.criteria import Criterion

NUMBERED = ("url", "digest")
"""The columns of dense numbers."""


@dataclass(frozen=True, slots=True)
class CapturePart:
    """Captures in the order of their months.

    `after` is the source's mark of the part's end, `months` the first row of each month and the row
    after its last, `labels` the new values in it, `ids` the count of numbers of each kind before
    it.
    """

    after: str
    rows: int
    months: dict[str, tuple[int, int]]
    labels: dict[str, list[str]]
    ids: dict[str, int]


class CaptureParts:
    """The parts in a folder, with the labels and numbers that they share with a build before."""

    def __init__(
        self, folder: Path, labels: Labels, ids: dict[str, DenseNumbers], key: Any
    ) -> None:
        """Read the parts made for the same `key` (JSON), or remove the existing ones."""
        self._folder = folder
        self.labels = labels
        self.ids = ids
        self.parts: list[CapturePart] = []
        if self._take_up(key):
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "key.json").write_text(json.dumps(key), encoding="utf-8")

    @property
    def after(self) -> str:
        """The mark after which reading continues."""
        return self.parts[-1].after if self.parts else ""

    @property
    def rows(self) -> int:
        """The number of captures in all parts."""
        return sum(part.rows for part in self.parts)

    def add(self, encoded: CaptureCodes, after: str) -> None:
        """Add captures: convert their texts to numbers, and write everything to disk.

        The captures of a month are sorted by the numbers of their URLs, and so mostly by the
        numbers of their digests: later reads and writes by number are then sequential instead of
        random.
        """
        counts = {name: self.ids[name].count for name in NUMBERED}
        known = {name: sum(len(p.labels[name]) for p in self.parts) for name in LABEL_TABLES}
        columns = dict(encoded.columns)
        months = columns.pop(Criterion.MONTH)
        urls = self.ids["url"].assign(*encoded.url)
        order = np.lexsort((urls, months))
        arrays = {name: narrow(column[order]) for name, column in columns.items()}
        arrays["url"] = narrow(urls[order])
        arrays["digest"] = narrow(
            self.ids["digest"].assign(*(one[order] for one in encoded.digest))
        )
        for kind in NUMBERED:
            first, second = self.ids[kind].hashes(counts[kind])
            arrays |= {f"{kind}_first": first, f"{kind}_second": second}
        part = CapturePart(
            after,
            len(months),
            _stretches(self.labels.values[Criterion.MONTH], months[order]),
            {
                name: self.labels.values[name][self._before[name] + known[name] :]
                for name in LABEL_TABLES
            },
            counts,
        )
        write_arrays(self._path(len(self.parts)), arrays)
        self._write_head(part)
        self.parts.append(part)

    def month(self, name: str) -> dict[str, Array]:
        """Return the columns of a month (`2013-01`), of all parts together."""
        pieces = []
        for number, part in enumerate(self.parts):
            if name in part.months:
                low, high = part.months[name]
                arrays = read_arrays(self._path(number))
                pieces.append({key: arrays[key][low:high] for key in _column_names(arrays)})
        return {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}

    def months(self) -> list[str]:
        """Return the months that have captures."""
        return sorted({month for part in self.parts for month in part.months})

    def new_hashes(self) -> Iterator[dict[str, Array]]:
        """Yield the hashes of the numbers that each part added, in order (uint64).

        They are `url_first`, `url_second`, `digest_first`, `digest_second`.
        """
        for number in range(len(self.parts)):
            arrays = read_arrays(self._path(number))
            yield {key: arrays[key] for key in arrays if key not in _column_names(arrays)}

    def remove(self) -> None:
        """Remove the parts from disk."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _take_up(self, key: Any) -> bool:
        """Load the parts made for the same key; return whether any exist."""
        self._before = {name: len(self.labels.values[name]) for name in LABEL_TABLES}
        try:
            kept = json.loads((self._folder / "key.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        if kept != json.loads(json.dumps(key)):
            return False
        while (head := self._folder / f"{len(self.parts)}.json").exists():
            part = CapturePart(**json.loads(head.read_text(encoding="utf-8")))
            for table in LABEL_TABLES:
                self.labels.codes(table, part.labels[table])
            arrays = read_arrays(self._path(len(self.parts)))
            for kind in NUMBERED:
                self.ids[kind].extend(arrays[f"{kind}_first"], arrays[f"{kind}_second"])
            self.parts.append(part)
        return True

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.arrays"

    def _write_head(self, part: CapturePart) -> None:
        head = self._folder / f"{len(self.parts)}.json"
        new = head.with_suffix(".new")
        named = {name: getattr(part, name) for name in CapturePart.__dataclass_fields__}
        new.write_text(json.dumps(named), encoding="utf-8")
        new.rename(head)


def _column_names(arrays: dict[str, Array]) -> list[str]:
    return [name for name in arrays if not name.endswith(("_first", "_second"))]


def _stretches(labels: Sequence[str], months: Array) -> dict[str, tuple[int, int]]:
    codes, starts = np.unique(months, return_index=True)
    ends = [*starts[1:].tolist(), len(months)]
    return {
        labels[code]: (start, end)
        for code, start, end in zip(codes.tolist(), starts.tolist(), ends, strict=True)
    }
