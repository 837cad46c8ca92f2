"""Index entries stored in a file as columns."""

import json
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.engine.entries import IndexEntry
from nwx.errors import BlobError

if TYPE_CHECKING:
    from nwx.bulk.arrays import Array


@dataclass(frozen=True, slots=True)
class EntryColumns:
    """Description of index entries stored as arrays in a file.

    `blob` is the name of the file. Its arrays are named `<group>/<column>`; the columns of a group
    have equal length, one row per entry. A column named in `labels` holds codes (unsigned
    integers): positions in the list of texts in the JSON file given by `labels`; `fields` is the
    entry field that gets the text as its value. All other columns hold whole numbers, the values of
    the field of the same name. `count` is the number of entries of all groups.
    """

    blob: str
    count: int
    labels: Mapping[str, str]
    fields: Mapping[str, str]

    def read(self, folder: Path) -> Iterator[IndexEntry]:
        """Stream the entries, group by group; `folder` holds the files.

        Each has the name of its group as `grouping`, and the id `column=value column=value` of its
        labelled columns in order. Raises BlobError on missing or damaged files.
        """
        # Imported here: every engine knows this class, few commands read columns.
        import numpy as np

        from nwx.bulk.arrays import read_arrays

        groups: dict[str, dict[str, Array]] = {}
        for name, array in read_arrays(folder / self.blob).items():
            group, _, column = name.partition("/")
            groups.setdefault(group, {})[column] = array
        texts = {
            name: np.array(TextsFile(folder / blob).read(), dtype=object)
            for name, blob in self.labels.items()
        }
        for group, columns in groups.items():
            yield from self._group_entries(group, columns, texts)

    def _group_entries(
        self, group: str, columns: Mapping[str, "Array"], texts: Mapping[str, "Array"]
    ) -> Iterator[IndexEntry]:
        coded = [name for name in columns if name in self.labels]
        counted = [name for name in columns if name not in self.labels]
        values = [texts[name][columns[name]] for name in coded]
        numbers = [columns[name].tolist() for name in counted]
        fields = [*(self.fields[name] for name in coded), *counted]
        for row in zip(*values, *numbers, strict=True):
            named = dict(zip(fields, row, strict=True))
            yield {"id": combination_id(coded, row), "grouping": group, **named}


def combination_id(columns: Sequence[str], values: Sequence[object]) -> str:
    """Return the id of a combination, such as `status=ok month=2013-01`.

    `values` begins with the values of `columns`; further values are ignored.
    """
    return " ".join(f"{name}={value}" for name, value in zip(columns, values, strict=False))


class TextsFile:
    """A JSON file with a list of texts, open from now on: it may be removed before it is read."""

    def __init__(self, path: Path) -> None:
        """Open the file; raises BlobError where it is missing."""
        self._path = path
        try:
            with path.open("rb") as file:
                self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise BlobError.translated(
                "%(path)s cannot be read (%(reason)s)", path=path, reason=error
            ) from error

    def read(self) -> list[str]:
        """Return the texts; raises BlobError on a damaged file."""
        try:
            found: list[str] = json.loads(self._mapped[:])
        except ValueError as error:
            raise BlobError.translated(
                "%(path)s cannot be read (%(reason)s)", path=self._path, reason=error
            ) from error
        return found
