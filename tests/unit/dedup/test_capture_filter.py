"""Which captures are considered, and the ranks of those with the same key."""

from pathlib import Path

import numpy as np
import pytest

from nwx.bulk.arrays import KEY
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece, FileReading
from nwx.dedup.capture_filter import (
    ID,
    RANK,
    CaptureFilter,
    Passed,
    keep_selected,
    key_entries,
    mark_duplicates,
)
from nwx.dedup.key_hashes import KeyHash
from nwx.dedup.policies import Keep, Key, Revisits


def test_keys_that_share_their_first_half_are_told_apart() -> None:
    rows = [(5, 1, 0, 10), (5, 2, 1, 10), (5, 1, 2, 9), (5, 2, 3, 10), (6, 1, 4, 1)]
    entries = np.array(rows, np.uint64)
    assert entries[:, KEY].tolist() == [5, 5, 5, 5, 6]
    beaten, keys, spared = mark_duplicates(entries, 1, None)
    assert beaten.tolist() == [True, False, False, True, False]
    assert (keys, spared) == (3, 0)
    beaten, keys, spared = mark_duplicates(entries, 1, RANK)
    assert beaten.tolist() == [True, False, False, False, False]
    assert (keys, spared) == (3, 1)


def test_a_second_rank_decides_before_the_id() -> None:
    entries = np.array([(1, 0, 0, 5, 9), (1, 0, 1, 5, 8), (1, 0, 2, 6, 1)], np.uint64)
    assert mark_duplicates(entries, 2, None).beaten.tolist() == [True, False, True]
    assert mark_duplicates(entries, 1, None).beaten.tolist() == [False, True, True]


def test_no_entries_have_no_duplicates() -> None:
    beaten, keys, spared = mark_duplicates(np.empty((0, 4), np.uint64), 1, RANK)
    assert (len(beaten), keys, spared) == (0, 0, 0)


def test_what_is_held_is_never_spared() -> None:
    """Stored captures have rank 0, and none is a duplicate that a list could name."""
    rows = [(1, 0, 0, 0, 0), (1, 0, 1, 0, 0), (1, 0, 2, 5, 9), (2, 0, 3, 5, 7), (2, 0, 4, 6, 7)]
    entries = np.array(rows, np.uint64)
    found = mark_duplicates(entries, 1, -1)
    assert (found.beaten.tolist(), found.spared) == ([False, True, True, False, False], 1)


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
