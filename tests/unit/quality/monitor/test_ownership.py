import os
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from nwx.errors import UsageError
from nwx.quality.monitor.ownership import Ownership
from tests.unit.quality.monitor.blobs import MemoryBlobs

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
    """As the first process of a container has, each time that it is started."""
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


def test_an_entry_that_cannot_be_read_is_none() -> None:
    blobs = MemoryBlobs({"monitor-owner:floods": b"nonsense"})
    Ownership(blobs, "floods", lambda: NOON, 5.0).renew()
