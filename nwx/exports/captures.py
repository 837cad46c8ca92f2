"""Writing indices out for other programs: captures as Parquet."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.whole_files import whole_folder
from nwx.engine.base import Engine
from nwx.facets.builds.sources import EXPORT_NOTE, to_table
from nwx.facets.criteria import Criterion
from nwx.model import IndexName

_HELD_ROWS = 400_000
_FILE_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote."""

    captures: int
    months: int
    files: int
    bytes: int
    seconds: float


def export_captures(
    engine: Engine, folder: Path, progress: ShowProgress = no_progress
) -> ExportReport:
    """Write the captures to Parquet files in a new folder, one folder within it a month.

    The folder is there when all of it is. Raises SourceError where it is
    there already, or cannot be written.
    """
    began = time.monotonic()
    with whole_folder(folder) as new:
        writer = _Writer(new)
        store = engine.facet_store()
        # The stamp comes first: what is written meanwhile is not in the export for certain.
        note: dict[str, Any] = {"stamp": store.stamp()}
        months = store.month_stamps()
        total = engine.count(IndexName.CAPTURES)
        for entry in engine.scan(IndexName.CAPTURES):
            if writer.add(entry):
                progress(WorkProgress("exporting", writer.captures, total))
        writer.finish()
        # Months of which all is hidden have no captures here.
        note["months"] = {month: one for month, one in months.items() if month in writer.months}
        note["captures"] = writer.captures
        (new / EXPORT_NOTE).write_text(json.dumps(note), encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    seconds = time.monotonic() - began
    return ExportReport(
        writer.captures, len(writer.files), sum(writer.files.values()), size, seconds
    )


class _Writer:
    """Captures on their way into files, a month's together."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, list[Mapping[str, Any]]] = {}
        self._rows = 0
        self.files: dict[str, int] = {}
        self.months: set[str] = set()
        self.captures = 0

    def add(self, entry: Mapping[str, Any]) -> bool:
        """Take a capture; tell whether files were written."""
        month = Criterion.MONTH.definition.of_value(entry.get("timestamp"))
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
        """Write what is held."""
        for month in sorted(self._held):
            self._write(month)

    def _write(self, month: str) -> None:
        entries = self._held.pop(month)
        self._rows -= len(entries)
        number = self.files.get(month, 0)
        self.files[month] = number + 1
        path = self._folder / f"month={month}" / f"part-{number:05}.parquet"
        path.parent.mkdir(exist_ok=True)
        to_table(entries).write_parquet(path)
