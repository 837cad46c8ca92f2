"""Which captures are looked at, and how those of a key are ranked."""

from pathlib import Path

import pytest

from nwx.bulk.key_parts import KEY
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece
from nwx.cdx.problems import FileReading
from nwx.dedup.capture_filter import CaptureFilter, Passed, keep_selected, key_entries
from nwx.dedup.choices import Keep, Key, Revisits
from nwx.dedup.contest import ID, RANK
from nwx.dedup.key_hashes import KeyHash

LINES = (
    "k 2014 http://a/ text/html 200 AAAA - - 50 7 f\n"
    "k 2015 http://a/ image/PNG 200 AAAA - - 70 7 f\n"
    "k 2016 http://a/ warc/revisit - AAAA - - - 7 f\n"
    "k 2017 http://a/ text/html 200 - - - 50 7 f\n"
    "k 2018 http://a/ warc/request - BBBB - - 50 7 f\n"
)


def columns(tmp_path: Path) -> CdxColumns:
    path = tmp_path / "a.cdx"
    path.write_text(LINES)
    reading = FileReading("a")
    (block,) = blocks(FilePiece(CdxSource(str(path))), reading)
    return CdxColumns(block, reading)


@pytest.mark.parametrize(
    ("selection", "years", "filtered"),
    [
        (CaptureFilter(), [2014, 2015, 2016], 0),
        (CaptureFilter(revisits=Revisits.OUT), [2014, 2015], 1),
        (CaptureFilter(revisits=Revisits.ONLY), [2016], 2),
        (CaptureFilter(mime_in=("image/*",)), [2015], 2),
        (CaptureFilter(mime_out=("text/*", "warc/*")), [2015], 2),
        (CaptureFilter(min_bytes=60), [2015, 2016], 1),
    ],
)
def test_what_is_left_out_is_counted(
    tmp_path: Path, selection: CaptureFilter, years: list[int], filtered: int
) -> None:
    found, passed = columns(tmp_path), Passed()
    keep_selected(found, selection, passed)
    assert [timestamp // 10**10 for timestamp in found.timestamp.tolist()] == years
    assert passed == Passed(lines=4, not_captures=1, without_digest=1, filtered=filtered)
    passed.add(passed)
    assert passed.lines == 8


@pytest.mark.parametrize("keep", Keep)
def test_the_capture_that_is_kept_has_the_lowest_rank(tmp_path: Path, keep: Keep) -> None:
    found, selection = columns(tmp_path), CaptureFilter(keep=keep)
    keep_selected(found, selection, Passed())
    entries = key_entries(found, KeyHash(Key.URL_DIGEST, 1), selection, first_id=10, held=False)
    assert entries.shape == (3, selection.words)
    assert len(set(entries[:, KEY].tolist())) == 1
    assert entries[:, ID].tolist() == [10, 11, 12]
    ranks = entries[:, RANK : RANK + selection.ranks].tolist()
    best = {Keep.OLDEST: 0, Keep.NEWEST: 2, Keep.LARGEST: 1, Keep.ORIGINAL: 0}
    assert min(range(3), key=ranks.__getitem__) == best[keep]


def test_what_is_held_comes_before_all_others(tmp_path: Path) -> None:
    found = columns(tmp_path)
    entries = key_entries(found, KeyHash(Key.URL_DIGEST, 1), CaptureFilter(), first_id=0, held=True)
    assert set(entries[:, RANK].tolist()) == {0}
