import json

from nwx.quality.monitor.report import (
    Alert,
    AlertKind,
    HostCounts,
    LogProblem,
    MinuteCounts,
    MonitorReport,
    TypeCounts,
    monitor_json,
)

REPORT = MonitorReport(
    "floods",
    "web",
    "20260101000000",
    totals=MinuteCounts("", new_documents=3),
    minutes=(MinuteCounts("202601010000", captures=4),),
    statuses={-2: 1, 200: 3},
    types=(TypeCounts("html", 3, 30),),
    hosts=(HostCounts("a.example", captures=4),),
    documents_known=1,
    alerts=(
        Alert(AlertKind.DISK, "/", "20260101000000", "full", 0.01),
        Alert(AlertKind.RATE, "", "20260101000000", "slow", 0.1, cleared="20260101000500"),
    ),
    problems=(LogProblem("crawl.log", 3, "cut"),),
)


def test_what_is_worked_out() -> None:
    assert REPORT.new_share == 0.75
    assert [alert.kind for alert in REPORT.open_alerts] == [AlertKind.DISK]
    assert not REPORT.hosts_are_bounded
    assert MonitorReport("a", "b", "").new_share is None


def test_a_report_as_json() -> None:
    found = json.loads(json.dumps(monitor_json(REPORT)))
    assert found["minutes"] == [MinuteCounts("202601010000", captures=4)._asdict()]
    assert found["statuses"] == {"-2": 1, "200": 3}
    assert (
        found["alerts"][0] | {}
        == Alert(AlertKind.DISK, "/", "20260101000000", "full", 0.01)._asdict()
    )
    assert found["totals"]["new_documents"] == 3 and "minute" not in found["totals"]
    assert found["hosts"][0]["mean_ms"] is None
    assert found["new_share"] == 0.75 and found["hosts_are_bounded"] is False
