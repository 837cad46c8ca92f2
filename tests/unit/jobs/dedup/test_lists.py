"""The jobs that make lists, without Spark; with it in tests/spark."""

from nwx.cdx.inputs import CdxSource, FilePiece, ReadTask
from nwx.jobs.inputs import in_one_piece


def test_a_file_of_several_layouts_is_read_where_it_begins() -> None:
    other, cut = CdxSource("other.cdx"), CdxSource("cut.cdx")
    tasks = [
        ReadTask(0, (FilePiece(other), FilePiece(cut, 0, 10)), 20),
        ReadTask(1, (FilePiece(cut, 10, 20),), 10),
        ReadTask(2, (FilePiece(cut, 20, 30), FilePiece(other)), 20),
    ]
    found = in_one_piece(tasks, "cut.cdx")
    assert [task.number for task in found] == [0, 1]
    assert found[0].pieces == (FilePiece(other), FilePiece(cut))
    assert found[1].pieces == (FilePiece(other),)
