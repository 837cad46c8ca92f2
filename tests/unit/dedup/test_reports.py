"""Counts of parts are those of the whole."""

from nwx.dedup.capture_filter import Passed
from nwx.dedup.reports import DedupReport


def test_the_counts_of_parts_are_added_up() -> None:
    report = DedupReport()
    for _ in range(2):
        report.add(Passed(lines=10, not_captures=1, without_digest=2, filtered=3))
    counts = (report.lines, report.not_captures, report.without_digest, report.filtered)
    assert counts == (20, 2, 4, 6)
    assert (report.keys, report.duplicates, report.problems) == (0, 0, [])
