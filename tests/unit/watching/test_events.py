"""Final messages of a watch."""

import pytest

from nwx.watching.events import EventKind, WatchReport


@pytest.mark.parametrize(
    ("kind", "failed"),
    [
        ("loaded", False),
        ("known", False),
        ("failed", True),
        ("not-moved", True),
        ("waiting", False),
        ("back", False),
    ],
)
def test_only_files_that_cannot_be_loaded_or_moved_are_failures(kind: str, failed: bool) -> None:
    report = WatchReport()
    report.outcomes[EventKind(kind)] += 1
    assert report.failed is failed


def test_nothing_happened_is_no_failure() -> None:
    assert not WatchReport().failed
