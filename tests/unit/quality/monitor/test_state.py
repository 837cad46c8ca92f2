import os
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from nwx.errors import EngineError, UsageError
from nwx.quality.monitor.report import Alert, AlertKind
from nwx.quality.monitor.state import MonitorState, Ownership, read_monitor, read_state, write_state
from tests.unit.quality.monitor.blobs import MemoryBlobs
from tests.unit.quality.monitor.test_sums import fetch


def made() -> MonitorState:
    state = MonitorState("floods", "web", "20260101000000")
    for number in range(300):
        state.sums.add_fetch(fetch(str(number)))
    state.sums.hosts.named("a.example").texts.add("http://a.example/", "text", "title")
    state.alerts.append(Alert(AlertKind.WALL, "a.example", "20260101000000", "same", 0.9))
    state.note("crawl.log", 7, "cut")
    return state


def test_a_state_is_read_as_it_was_written() -> None:
    blobs, state = MemoryBlobs(), made()
    write_state(blobs, state)
    assert read_state(blobs, "floods") == state
    assert read_state(blobs, "other") is None
    report = read_monitor(blobs, "floods")
    assert report == state.report() and report.totals.captures == 300
    assert read_monitor(blobs, "other") is None


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"cut"])
def test_a_damaged_state(damage: bytes) -> None:
    blobs = MemoryBlobs()
    write_state(blobs, made())
    (key,) = blobs.kept
    blobs.kept[key] = blobs.kept[key][:-20] if damage == b"cut" else damage
    with pytest.raises(EngineError, match="--anew"):
        read_state(blobs, "floods")


def test_a_state_of_a_newer_version() -> None:
    blobs, state = MemoryBlobs(), made()
    state.rules = 99
    write_state(blobs, state)
    with pytest.raises(EngineError, match="update nwx"):
        read_monitor(blobs, "floods")


def test_the_number_of_problems_is_bounded() -> None:
    state = made()
    for number in range(1_000):
        state.note("crawl.log", number, "cut")
    assert len(state.problems) == 20 and state.problems_total == 1_001


NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_one_monitor_at_a_time() -> None:
    blobs = MemoryBlobs()
    first = Ownership(blobs, "floods", lambda: NOON, 5.0)
    second = Ownership(blobs, "floods", lambda: NOON, 5.0)
    first.renew()
    first.renew()
    with pytest.raises(UsageError, match=rf"another monitor of 'floods' runs .*{os.getpid()}"):
        second.renew()
    Ownership(blobs, "other", lambda: NOON, 5.0).renew()
    first.end()
    second.renew()
    with pytest.raises(UsageError):
        first.renew()
    first.end()
    with pytest.raises(UsageError):
        first.renew()


def owned(blobs: MemoryBlobs, host: str, pid: int) -> None:
    entry = (host, pid, "token", "20261122115900", 5.0)
    blobs.put_state("monitor-owner:floods", msgspec.json.encode(entry))


def test_the_right_ends_with_its_process() -> None:
    blobs = MemoryBlobs()
    owned(blobs, os.uname().nodename, 2**22 + 7)
    Ownership(blobs, "floods", lambda: NOON, 5.0).renew()


def test_a_process_with_the_number_of_one_that_was_killed_has_no_right() -> None:
    """The first process of a container gets the same number after each start."""
    blobs = MemoryBlobs()
    owned(blobs, os.uname().nodename, os.getpid())
    clock = NOON - timedelta(seconds=40)
    with pytest.raises(UsageError, match="another monitor"):
        Ownership(blobs, "floods", lambda: clock, 5.0).renew()
    Ownership(blobs, "floods", lambda: NOON, 5.0).renew()


def test_the_right_of_another_machine_ends_when_nothing_is_heard() -> None:
    blobs = MemoryBlobs()
    owned(blobs, "elsewhere", 1)
    clock = NOON - timedelta(seconds=40)
    with pytest.raises(UsageError, match="on elsewhere"):
        Ownership(blobs, "floods", lambda: clock, 5.0).renew()
    Ownership(blobs, "floods", lambda: NOON, 5.0).renew()


def test_a_right_of_the_future_has_ended() -> None:
    blobs = MemoryBlobs()
    times = [NOON + timedelta(days=365), NOON, NOON]
    first = Ownership(blobs, "floods", lambda: times.pop(0), 5.0)
    first.renew()
    first.renew()
    with pytest.raises(UsageError, match="another monitor"):
        Ownership(blobs, "floods", lambda: NOON, 5.0).renew()
    owned(blobs, "elsewhere", 1)
    Ownership(blobs, "floods", lambda: NOON - timedelta(days=365), 5.0).renew()


def test_an_entry_that_cannot_be_read_is_none() -> None:
    blobs = MemoryBlobs({"monitor-owner:floods": b"nonsense"})
    Ownership(blobs, "floods", lambda: NOON, 5.0).renew()
