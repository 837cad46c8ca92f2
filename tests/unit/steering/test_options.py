"""Figures of an analysis."""

from nwx.model import ReadError
from nwx.steering.options import ANALYSIS, SteeringReport, steering_report_json


def test_failures_are_counted_and_listed() -> None:
    report = SteeringReport("stones", "v")
    report.fail(ReadError("a.warc.gz", 5, ANALYSIS, "it hangs"))
    assert report.failed == 1
    [error] = steering_report_json(report)["errors"]
    assert error == {"file": "a.warc.gz", "offset": 5, "kind": ANALYSIS, "message": "it hangs"}


def test_runs_add_up() -> None:
    past = SteeringReport("stones", "v", analysed=3, waiting=1, stopped="it crashed", seconds=1)
    now = SteeringReport(analysed=2, links=5, seconds=2)
    assert past + now == SteeringReport(
        "stones", "v", analysed=5, links=5, waiting=1, stopped="it crashed", seconds=3
    )
