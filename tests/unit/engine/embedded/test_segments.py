"""Segments that are made apart and adopted."""

import json
from pathlib import Path

import pytest

from nwx.engine.embedded import segments
from nwx.engine.embedded.documents.tantivy_index import Packer
from nwx.engine.embedded.segments import SegmentMaker, adopt_segments, segment_entries
from nwx.engine.embedded.text_writer import TextWriter
from nwx.engine.entries import document_entry
from tests.unit.engine.embedded.making import page


def made(folder: Path, *numbers: int) -> Path:
    packer = Packer()
    folder.mkdir()
    maker = SegmentMaker(folder)
    for number in numbers:
        maker.add(packer.document(number, document_entry(page(number))))
    return maker.finish()


def test_adopted_documents_are_there(tmp_path: Path) -> None:
    index = made(tmp_path / "index", 1, 2)
    folders = [made(tmp_path / "a", 3), made(tmp_path / "b", 4, 5)]
    assert adopt_segments(index, folders) == 3
    assert not any(folder.exists() for folder in folders)
    assert TextWriter(index).nums() == {1, 2, 3, 4, 5}


def test_the_entries_of_a_segment_can_be_read(tmp_path: Path) -> None:
    folder = made(tmp_path / "a", 3, 4, 5)
    assert dict(segment_entries(folder, [3, 5])) == {
        number: document_entry(page(number)) for number in (3, 5)
    }


def test_merged_segments_leave_no_files_behind(tmp_path: Path) -> None:
    index = made(tmp_path / "index", 1)
    adopt_segments(index, [made(tmp_path / str(number), number) for number in range(2, 10)])
    writer = TextWriter(index)
    writer.forget([2])
    writer.tidy()
    writer.finish()
    assert TextWriter(index).nums() == {1, *range(3, 10)}
    [segment] = json.loads((index / "meta.json").read_text())["segments"]
    name = segment["segment_id"].replace("-", "")
    files = [file.name for file in index.iterdir() if len(file.stem) == len(name)]
    assert {Path(file).stem for file in files} == {name}


class _KilledError(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("survived", [0, 1, 2])
def test_a_writer_killed_while_it_adopts_leaves_the_index_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survived: int
) -> None:
    index, folder = made(tmp_path / "index", 1), made(tmp_path / "a", 2)
    calls = iter(range(10))
    replace = segments._replace

    def killed(file: Path, content: object) -> None:
        if next(calls) >= survived:
            raise _KilledError
        replace(file, content)

    monkeypatch.setattr(segments, "_replace", killed)
    if survived < 2:
        with pytest.raises(_KilledError):
            adopt_segments(index, [folder])
    else:
        adopt_segments(index, [folder])
    monkeypatch.undo()
    writer = TextWriter(index)
    assert writer.nums() == ({1} if survived < 2 else {1, 2})
    writer.delete([7])
    writer.commit()
    writer.finish()
    known = len(json.loads((index / "meta.json").read_text())["segments"])
    assert len(list(index.glob("*.store"))) == known
