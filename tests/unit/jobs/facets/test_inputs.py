"""What the job `facets` reads: an export, or CDX files."""

import json
from pathlib import Path

import polars as pl
import pytest

from nwx.cdx.inputs import ReadTask
from nwx.errors import SourceError, UsageError
from nwx.facets.builds.sources import EXPORT_NOTE
from nwx.jobs.facets import inputs
from nwx.jobs.facets.capture_rows import ParquetSlice, RowPlan
from nwx.jobs.facets.inputs import RowReader, capture_inputs, without_cuts
from nwx.jobs.reports import PieceReport


def test_an_export_is_read_in_slices_month_by_month(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_SLICE_ROWS", 2)
    for month in ("2013-02", "2013-01"):
        path = tmp_path / f"month={month}" / "part-0.parquet"
        path.parent.mkdir()
        pl.DataFrame({"url": ["u"] * 3}).write_parquet(path)
    found = capture_inputs([str(tmp_path)])
    assert (found.is_cdx, found.stamp, found.checks) == (False, "", None)
    slices = [piece for piece in found.pieces if isinstance(piece, ParquetSlice)]
    assert [(Path(one.path).parent.name[-2:], one.first, one.rows) for one in slices] == [
        ("01", 0, 2), ("01", 2, 1), ("02", 0, 2), ("02", 2, 1)
    ]  # fmt: skip
    (tmp_path / EXPORT_NOTE).write_text(json.dumps({"stamp": "s", "months": {"201301": "c"}}))
    found = capture_inputs([str(tmp_path)])
    assert (found.stamp, found.checks) == ("s", {"201301": "c"})
    with pytest.raises(UsageError, match="one export"):
        capture_inputs([str(tmp_path), str(tmp_path)])
    report = PieceReport()
    assert list(RowReader(RowPlan((1, 2), None, ""))((0, found.pieces[0]), report)) == []
    assert "lacks url, content_digest" in report.errors[0].message
    (tmp_path / EXPORT_NOTE).write_text("{")
    with pytest.raises(SourceError, match="export again"):
        capture_inputs([str(tmp_path)])


def test_cdx_files_are_read_in_tasks(tmp_path: Path) -> None:
    (tmp_path / "one.cdx").write_text("a\n")
    found = capture_inputs([str(tmp_path)])
    assert found.is_cdx
    assert isinstance(found.pieces[0], ReadTask)
    assert without_cuts(found, "other").pieces == found.pieces
    with pytest.raises(UsageError, match="nothing to read"):
        capture_inputs([])
