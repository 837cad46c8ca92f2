"""A build in the making: files beside those of the build before, then one manifest for all."""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from nwx.engine.arrays import Array, narrow, read_arrays, write_arrays
from nwx.engine.cube import FORMAT, MANIFEST, Build, write_manifest, write_text
from nwx.facets.criteria import FIELDS
from nwx.facets.labels import Labels
from nwx.facets.payloads import ROWS, PayloadColumns, document_sizes

_KEPT_FILES = ("lock", MANIFEST, "seeds")


class Draft:
    """Files of a build that is not yet in its place."""

    def __init__(self, folder: Path, base: Build | None) -> None:
        self._folder = folder
        self._base = base
        # Names of files are never given again, wherever builds are made.
        self._number = (base.manifest["version"] if base else 0) + 1
        self._mark = f"{self._number}-{os.urandom(4).hex()}"
        self._remove_others()
        self.made: set[str] = set()
        self._manifest: dict[str, Any] = {
            "format": FORMAT,
            "version": self._number,
            "fields": {name.value: field for name, field in FIELDS.items()},
            "months": {},
            "id_files": list(base.manifest["id_files"]) if base else [],
            "cube": "",
        }

    @property
    def build(self) -> Build:
        """The build as it is going to be."""
        return Build(self._folder, self._manifest)

    def month(self, name: str, columns: PayloadColumns) -> PayloadColumns:
        """Write the columns of a month and return them as they are read."""
        self.made.add(name)
        return self._write_month(name, columns)

    def _write_month(self, name: str, columns: PayloadColumns) -> PayloadColumns:
        rows = len(columns["status"])
        file = self._write(f"month-{name}", columns)
        self._manifest["months"][name] = {"file": file, "rows": rows}
        return read_arrays(self._folder / file)

    def keep(self, name: str) -> PayloadColumns:
        """Keep a month of the build before and return its columns."""
        assert self._base is not None
        self._manifest["months"][name] = self._base.manifest["months"][name]
        return read_arrays(self._folder / self._manifest["months"][name]["file"])

    def labels(self, labels: Labels) -> None:
        """Write the values of all criteria."""
        self._manifest["labels"] = {}
        for name, values in labels.values.items():
            file = self._file(f"labels-{name}", "json")
            write_text(self._folder / file, json.dumps(values))
            self._manifest["labels"][name] = file

    def ids(self, new: Sequence[dict[str, Array]]) -> None:
        """Write the hashes that numbers were given to, beside those of the build before."""
        if new:
            together = {key: np.concatenate([one[key] for one in new]) for key in new[0]}
            self._manifest["id_files"].append(self._write("ids", together))

    def sizes(self, months: Mapping[str, PayloadColumns], documents: int) -> dict[str, Array]:
        """Write the bytes of each document, and where they differ from capture to capture.

        Documents that differ have 0 bytes there; their captures are listed.
        """
        sizes, varied, rows = document_sizes(months, documents)
        listed = {f"{ROWS}{name}": narrow(one) for name, one in rows.items()}
        self._manifest["sizes"] = self._write("sizes", {"sizes": narrow(sizes), **listed})
        return {"sizes": sizes, "varied": varied}

    def combinations(self, groupings: Mapping[str, Mapping[str, Array]]) -> None:
        """Write the combinations by grouping."""
        arrays = {
            f"{grouping}/{name}": column
            for grouping, columns in groupings.items()
            for name, column in columns.items()
        }
        self._manifest["cube"] = self._write("cube", arrays)

    def finish(self, **facts: Any) -> None:
        """Add what else is to be known of the build."""
        built = datetime.now(UTC).isoformat(timespec="seconds")
        self._manifest |= facts | {"built": built}
        self._manifest["files"] = {
            name: (self._folder / name).stat().st_size for name in self._named_files()
        }

    def _named_files(self) -> list[str]:
        manifest = self._manifest
        months = [month["file"] for month in manifest["months"].values()]
        files = [*months, *manifest["labels"].values(), *manifest["id_files"], manifest["sizes"]]
        return [*files, manifest["cube"]] if manifest["cube"] else files

    def swap(self) -> None:
        """Put the build in the place of the one before, whose own files are removed."""
        write_manifest(self._folder, self._manifest)
        self._base = self.build
        self._remove_others()
        (self._folder / "seeds").unlink(missing_ok=True)

    def _remove_others(self) -> None:
        """Remove the files that belong to no build."""
        known = {*_KEPT_FILES, *(self._base.files if self._base else ())}
        for path in self._folder.iterdir():
            if path.is_file() and path.name not in known:
                path.unlink(missing_ok=True)

    def _file(self, name: str, kind: str) -> str:
        return f"{name}.{self._mark}.{kind}"

    def _write(self, name: str, arrays: Mapping[str, Array]) -> str:
        file = self._file(name, "arrays")
        path = self._folder / file
        # A file that is being read keeps its bytes: another takes its name.
        new = path.with_suffix(".new")
        write_arrays(new, arrays)
        new.rename(path)
        return file
