"""Alerts as they begin, go on and end: each begins once, and none flaps."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from nwx.quality.monitor.readings import AlertReading
from nwx.quality.monitor.report import Alert
from nwx.values.timestamps import parse_timestamp, to_timestamp

_MOST_OPEN = 1_000
_MOST_CLEARED = 200


def next_alerts(
    alerts: Iterable[Alert], readings: Iterable[AlertReading], now: datetime, quiet_minutes: float
) -> tuple[list[Alert], list[Alert], int]:
    """Return the alerts after a look, those of them that are new, and how many were too many.

    An open alert ends once it was not true for `quiet_minutes`. Cleared
    ones come first, then open ones, by their age; of both a bounded number.
    """
    before = list(alerts)
    cleared = [alert for alert in before if alert.cleared]
    opened = {(alert.kind, alert.host): alert for alert in before if not alert.cleared}
    moment, new, passed_over = to_timestamp(now), [], 0
    for reading in readings:
        key = (reading.kind, reading.host)
        alert = opened.get(key)
        if alert is not None and reading.goes_on:
            opened[key] = alert._replace(value=reading.value, message=reading.message, last=moment)
        elif alert is None and reading.begins:
            if len(opened) >= _MOST_OPEN:
                passed_over += 1
                continue
            opened[key] = Alert(
                reading.kind, reading.host, moment, reading.message, reading.value, moment
            )
            new.append(opened[key])
    quiet = timedelta(minutes=quiet_minutes)
    for key, alert in list(opened.items()):
        if alert.last < moment and now - parse_timestamp(alert.last) >= quiet:
            cleared.append(alert._replace(cleared=moment))
            del opened[key]
    return [*cleared[-_MOST_CLEARED:], *opened.values()], new, passed_over
