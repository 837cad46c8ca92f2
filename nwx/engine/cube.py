"""What facet questions need of an engine beside its interface."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nwx.engine.arrays import Array, read_arrays
from nwx.engine.selection import LiveSelection
from nwx.errors import EngineError, EngineVersionError
from nwx.model import Capture

FORMAT = 1
"""The layout of a build; another one is made anew."""

ROW_FIELDS = (
    "timestamp",
    "url",
    "digest",
    "status_code",
    "content_type_norm",
    "content_length",
    "domain",
    "public_suffix",
    "record_type",
    "hops",
    "urlkey",
    "collection",
    "source_file",
    "source_file_offset",
)
"""What a row of captures holds."""

FEATURES = ("captures", "unique_documents", "unique_urls", "bytes", "unique_bytes")
MANIFEST = "current.json"

CaptureTuple = tuple[Any, ...]
CapturePlace = tuple[str, int]
"""Where a capture is: `<collection>/<file name>` and offset."""


@dataclass(frozen=True, slots=True)
class CaptureTuples:
    """Captures as tuples of ROW_FIELDS; reading goes on `after` this mark."""

    rows: Sequence[CaptureTuple]
    after: str


class Build:
    """A build in a folder, as its manifest tells."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest

    @property
    def stamp(self) -> str:
        """The stamp of the captures that it was made from."""
        return str(self.manifest["stamp"])

    def labels(self, criterion: str) -> list[str]:
        """Return the values of a criterion by their codes."""
        path = self.folder / self.manifest["labels"][criterion]
        try:
            found: list[str] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise EngineError(
                f"{path} cannot be read ({error}); run `nwx build-facets --anew`"
            ) from error
        return found

    @property
    def files(self) -> dict[str, int]:
        """The names of all files, and their sizes."""
        found: dict[str, int] = self.manifest["files"]
        return found

    @property
    def combinations(self) -> int:
        """The number of stored combinations."""
        return int(self.manifest["combinations"])

    def groupings(self) -> dict[str, dict[str, Array]]:
        """Return the columns of the combinations by grouping, such as `month,type`."""
        found: dict[str, dict[str, Array]] = {}
        if self.manifest["cube"]:
            for name, array in read_arrays(self.folder / self.manifest["cube"]).items():
                grouping, _, column = name.partition("/")
                found.setdefault(grouping, {})[column] = array
        return found

    def entries(self) -> Iterator[dict[str, Any]]:
        """Stream the combinations as entries of the index facets."""
        for grouping, columns in self.groupings().items():
            yield from self._entries(grouping, columns)

    def _entries(self, grouping: str, columns: Mapping[str, Array]) -> Iterator[dict[str, Any]]:
        criteria = ["status", *grouping.split(",")] if grouping else ["status"]
        values = [np.array(self.labels(name), dtype=object)[columns[name]] for name in criteria]
        numbers = [columns[name].tolist() for name in FEATURES]
        fields = [self.manifest["fields"][name] for name in criteria]
        for row in zip(*values, *numbers, strict=True):
            named = dict(zip([*fields, *FEATURES], row, strict=True))
            yield {"id": combination_id(criteria, row), "grouping": grouping, **named}


class Cube(ABC):
    """The captures of an archive in bulk, and the place of what is built from them."""

    folder: Path
    """Where the build lies, or is kept at hand, on this machine."""

    @abstractmethod
    def stamp(self) -> str:
        """Return a text that is another one whenever captures were written or deleted."""

    @abstractmethod
    def months(self) -> dict[str, str]:
        """Return for each month (`201301`) a text that tells whether its captures changed."""

    @abstractmethod
    def rows(self, months: Collection[str] | None, after: str = "") -> Iterator[CaptureTuples]:
        """Stream the captures of these months, or of all, from a mark on."""

    @abstractmethod
    def version(self) -> str:
        """Return a text that is another one whenever there is another build."""

    @abstractmethod
    def newest(self) -> Build | None:
        """Return the build of now as it is described, whether or not the folder holds its files."""

    @abstractmethod
    def at_hand(self) -> Build | None:
        """Return the build that the folder holds, where that is the one of now; else None."""

    @abstractmethod
    def fetch(self) -> Build | None:
        """Return the build of now, brought to the folder; None where there is none."""

    @abstractmethod
    def publish(self, build: Build) -> None:
        """Put a build in the place of the one before, for everybody and at once.

        The folder holds it already, whose manifest is replaced afterwards.
        """

    def selecting(self) -> AbstractContextManager[LiveSelection] | None:
        """Give the captures of now to be looked up by conditions.

        None where an engine is no faster at that than at reading all of them.
        """
        return None

    @abstractmethod
    def captures(self, places: Sequence[CapturePlace]) -> list[Capture]:
        """Return those of these captures that there are, in their order."""


def combination_id(criteria: Sequence[str], values: Sequence[Any]) -> str:
    """Return the id of a combination, `status=ok month=2013-01`."""
    return " ".join(f"{name}={value}" for name, value in zip(criteria, values, strict=False))


def read_build(folder: Path) -> Build | None:
    """Return the build of a folder, None where there is none.

    Raises EngineVersionError on a build of another format.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        found = int(manifest["format"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{path} is damaged ({error}); run `nwx build-facets --anew`") from error
    if found != FORMAT:
        raise EngineVersionError(
            f"the facets in {folder} have format {found}, this nwx reads {FORMAT}; "
            f"run `nwx build-facets --anew`"
        )
    return Build(folder, manifest)


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Put a manifest in its place, at once."""
    new = folder / f"{MANIFEST}.new"
    write_text(new, json.dumps(manifest))
    new.rename(folder / MANIFEST)


def write_text(path: Path, text: str) -> None:
    """Write a file, which is safe on disk afterwards."""
    with path.open("w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
