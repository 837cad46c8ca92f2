from datetime import UTC, datetime, timedelta

from nwx.quality.monitor.alert_list import next_alerts
from nwx.quality.monitor.readings import AlertReading
from nwx.quality.monitor.report import Alert, AlertKind
from nwx.quality.monitor.thresholds import Limit
from nwx.values.timestamps import to_timestamp

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
LIMIT = Limit(0.5, 0.25)


def reading(value: float, host: str = "a.example") -> AlertReading:
    return AlertReading(AlertKind.ERRORS, host, value, LIMIT, f"{value}")


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def look(
    alerts: list[Alert], minutes: float, *found: AlertReading
) -> tuple[list[Alert], list[Alert]]:
    then, new, _ = next_alerts(alerts, found, after(minutes), 5.0)
    return then, new


def test_an_alert_begins_goes_on_and_ends() -> None:
    alerts, new = look([], 0, reading(0.4))
    assert alerts == [] and new == []
    alerts, new = look(alerts, 1, reading(0.5))
    assert alerts == new and alerts[0].since == alerts[0].last == to_timestamp(after(1))
    alerts, new = look(alerts, 2, reading(0.3))
    assert not new and alerts[0].last == to_timestamp(after(2)) and alerts[0].value == 0.3
    alerts, new = look(alerts, 6, reading(0.1))
    assert not new and not alerts[0].cleared
    alerts, new = look(alerts, 7, reading(0.1))
    assert not new and alerts[0].cleared == to_timestamp(after(7))
    alerts, new = look(alerts, 8, reading(0.9))
    assert len(alerts) == 2 and new == [alerts[1]] and alerts[1].since == to_timestamp(after(8))


def test_what_goes_up_and_down_is_one_alert() -> None:
    alerts: list[Alert] = []
    begun = 0
    for minute in range(120):
        alerts, new = look(alerts, minute, reading(0.8 if minute % 4 == 0 else 0.1))
        begun += len(new)
    assert begun == len(alerts) == 1


def test_what_is_measured_no_more_ends() -> None:
    alerts, _ = look([], 0, reading(0.9))
    alerts, _ = look(alerts, 4)
    assert not alerts[0].cleared
    alerts, _ = look(alerts, 5)
    assert alerts[0].cleared


def test_the_number_of_alerts_is_bounded() -> None:
    many = [reading(0.9, f"{number}.example") for number in range(3_000)]
    alerts, new, passed_over = next_alerts([], many, NOON, 5.0)
    assert len(alerts) == len(new) == 1_000 and passed_over == 2_000
    alerts, new, _ = next_alerts(alerts, [], after(10), 5.0)
    assert len(alerts) == 200 and not new
