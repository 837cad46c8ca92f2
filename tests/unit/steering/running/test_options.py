"""Figures of an analysis."""

from nwx.model import ReadError
from nwx.steering.running.options import (
    ANALYSIS,
    SteeringReport,
    SteeringTally,
    added_reports,
    steering_report_json,
)


def test_what_is_left_waits() -> None:
    tally = SteeringTally("stones", "v")
    tally.counts.update(analysed=3, relevant=1, links=9, left=2)
    tally.fail(ReadError("a.warc.gz", 5, ANALYSIS, "it hangs"))
    report = tally.report(4, 1.5)
    assert (report.crawl, report.version, report.waiting, report.failed) == ("stones", "v", 6, 1)
    [error] = steering_report_json(report)["errors"]
    assert error == {"file": "a.warc.gz", "offset": 5, "kind": ANALYSIS, "message": "it hangs"}


def test_runs_add_up() -> None:
    past = SteeringReport("stones", "v", analysed=3, waiting=1, stopped="it crashed", seconds=1)
    now = SteeringReport(analysed=2, links=5, seconds=2)
    assert added_reports(past, now, 4) == SteeringReport(
        "stones", "v", analysed=5, links=5, waiting=5, stopped="it crashed", seconds=3
    )
