"""The three steps of finding duplicates, one task at a time."""

from pathlib import Path

from nwx.bulk.key_parts import segments_by_part
from nwx.cdx.inputs import CdxSource, FilePiece, ReadTask
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.plans import DedupPlan
from nwx.dedup.tasks import Flags, Savings, collect, settle, write

LINES = (
    "k 2014 http://a/ text/html 200 AAAA - - 50 7 f\n"
    "l 2015 http://b/ image/png 200 AAAA - - 70 7 f\n"
    "k 2016 http://a/ text/html 200 AAAA - - 30 7 f\n"
)


def test_entries_are_collected_settled_and_written(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_text(LINES)
    plan = DedupPlan(CaptureFilter(), 1, 1, tmp_path, summary=True)
    task = ReadTask(0, (FilePiece(CdxSource(str(tmp_path / "a.cdx"))),), len(LINES))
    found = collect(plan, task)
    assert (found.entries, found.passed.lines) == (3, 3)
    # What is beaten by a neighbour goes no further.
    assert found.beaten == bytes([0b00100000])
    (tmp_path / "flags").write_bytes(b"\0\0\1")
    flags = Flags(tmp_path / "flags", (0,), 3)
    parts = segments_by_part(found.segments).values()
    assert sum(settle(plan, flags, segments)[0] for segments in parts) == 2
    written = write(plan, task, flags)
    assert written.path.read_bytes() == b"2016 AAAA http://a/\n"
    assert (written.lines, written.savings.bytes) == (1, 30)


def test_without_flags_all_lines_are_written(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_text(LINES)
    task = ReadTask(4, (FilePiece(CdxSource(str(tmp_path / "a.cdx"))),), len(LINES))
    written = write(DedupPlan(CaptureFilter(), 1, 1, tmp_path), task, None)
    assert written.lines == 3
    assert written.path.name == "lines-4"


def test_savings_of_parts_are_added_up() -> None:
    total, part = Savings(), Savings(5)
    part.mime_duplicates["a/b"] = 2
    total.add(part)
    total.add(part)
    assert (total.bytes, total.mime_duplicates["a/b"]) == (10, 4)
