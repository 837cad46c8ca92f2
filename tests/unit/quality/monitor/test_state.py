import pytest

from nwx.errors import EngineError
from nwx.quality.monitor.report import Alert, AlertKind
from nwx.quality.monitor.state import MonitorState, read_monitor, read_state, write_state
from tests.unit.quality.monitor.blobs import MemoryBlobs
from tests.unit.quality.monitor.test_sums import fetch


def made() -> MonitorState:
    state = MonitorState("floods", "web", "20260101000000")
    for number in range(300):
        state.sums.add_fetch(fetch(str(number)))
    state.sums.hosts.at("a.example").texts.add("http://a.example/", "text", "title")
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
