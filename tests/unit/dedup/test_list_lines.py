"""Lines of lists, written for many captures at once, are those written one by one."""

from pathlib import Path

import pytest

from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece
from nwx.cdx.problems import FileReading
from nwx.dedup.list_lines import list_lines


@pytest.mark.parametrize(("count", "longest"), [(1, 5), (3, 400), (40, 5), (40, 400)])
def test_each_line_has_date_digest_and_url_as_written(
    tmp_path: Path, count: int, longest: int
) -> None:
    fields = [
        (f"http://a/{'x' * (number * 13 % longest)}", f"2014{number % 12 + 1:02}", f"D{number}")
        for number in range(count)
    ]
    path = tmp_path / "a.cdx"
    path.write_text("".join(f"k {date} {url} a/b 200 {digest} 5\n" for url, date, digest in fields))
    reading = FileReading("a")
    (block,) = blocks(FilePiece(CdxSource(str(path))), reading)
    expected = "".join(f"{date} {digest} {url}\n" for url, date, digest in fields)
    assert list_lines(CdxColumns(block, reading)) == expected.encode()
