"""States of monitors for tests of the pages."""

from datetime import UTC, datetime, timedelta

from nwx.engine.base import Engine
from nwx.quality.monitor.report import Alert, AlertKind
from nwx.quality.monitor.state import MonitorState, read_state, write_state
from nwx.quality.monitor.sums import Fetch
from nwx.values.timestamps import to_timestamp

HOSTILE_HOST = "<b>evil</b>.test"


def seen_crawl(name: str, looked: datetime | None = None, fetches: int = 60) -> MonitorState:
    """Return the state of a monitor with some fetches of the last minutes."""
    now = looked or datetime.now(UTC)
    state = MonitorState(name, "web", to_timestamp(now - timedelta(hours=3)))
    state.looked, state.interval_seconds = to_timestamp(now), 5.0
    for number in range(fetches):
        at = to_timestamp(now - timedelta(minutes=fetches - number))
        state.sums.add_fetch(seen_fetch(number, at))
        state.sums.add_archived(at, 900, is_new=number % 3 > 0, is_known=number % 3 == 0)
    state.queue, state.queue_source = {"waiting": 1234, "done": fetches}, "nwx"
    since = to_timestamp(now - timedelta(minutes=7))
    state.alerts = [
        Alert(AlertKind.RATE, "", since, "fell to a tenth", 0.1, cleared=to_timestamp(now)),
        Alert(AlertKind.ERRORS, HOSTILE_HOST, since, "answers <i>500</i> mostly", 0.9),
    ]
    state.alerts_total = 2
    state.note("crawl.log", 77, "a line <u>without</u> fields")
    return state


def seen_fetch(number: int, at: str) -> Fetch:
    """Return a fetch: from several hosts, of a page, an image or an error, or a failed one."""
    host = (HOSTILE_HOST, "a.test", f"{'long-' * 9}host.test")[number % 3]
    status = (200, 200, 404, 301, -2)[number % 5]
    kind = ("html", "image")[number % 2]
    took = 20 * number if number % 4 else None
    return Fetch(f"http://a.test/{number}", host, at, status, kind, 1_000 * number, "", took)


def fetch_more(engine: Engine, name: str, fetches: int) -> None:
    """Add some pages fetched now to the monitor of a crawl."""
    index = engine.quality_index()
    state = read_state(index, name)
    assert state is not None
    now = to_timestamp(datetime.now(UTC))
    for _ in range(fetches):
        state.sums.add_fetch(Fetch("http://a.test/x", "new.test", now, 200, "html", 5, ""))
    state.looked = now
    write_state(index, state)
