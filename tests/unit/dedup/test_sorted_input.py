"""Sorted input is recognized, and its runs are lines of one urlkey."""

from pathlib import Path

import pytest

from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece, FileReading
from nwx.dedup.policies import Key
from nwx.dedup.sorted_input import same_as_before, seem_in_order


def source(tmp_path: Path, *keys: str, name: str = "a.cdx", held: bool = False) -> CdxSource:
    path = tmp_path / name
    path.write_text("".join(f"{key} 2014 http://a/ a/b 200 AAAA 5\n" for key in keys))
    return CdxSource(str(path), held=held)


def test_files_seem_in_order_when_their_first_lines_are(tmp_path: Path) -> None:
    first, second = (source(tmp_path, *keys, name=keys) for keys in ("aab", "bcc"))
    assert seem_in_order([first, second], Key.URL_DIGEST)
    assert not seem_in_order([second, first], Key.URL_DIGEST)
    assert not seem_in_order([source(tmp_path, "b", "a")], Key.URL_DIGEST)


def test_keys_without_urls_and_held_captures_are_not_read_by_runs(tmp_path: Path) -> None:
    assert not seem_in_order([source(tmp_path, "a")], Key.DIGEST)
    assert not seem_in_order([source(tmp_path, "a", held=True)], Key.URL_DIGEST)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 63, 64, 65, 200])
def test_lines_of_the_urlkey_before_are_told_whatever_its_length(
    tmp_path: Path, width: int
) -> None:
    last = "a" * (width - 1)
    keys = [f"{last}x", f"{last}x", f"{last}y", f"{last}yy", f"z{last}", f"z{last}"]
    reading = FileReading("a")
    (block,) = blocks(FilePiece(source(tmp_path, *keys)), reading)
    found = same_as_before(CdxColumns(block, reading)).tolist()
    assert found == [False, *(one == other for one, other in zip(keys[1:], keys, strict=False))]
