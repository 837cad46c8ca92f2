"""Queue addresses from user input."""

import pytest

from nwx.errors import UsageError
from nwx.steering.queue.client import queue_address


def test_addresses() -> None:
    assert queue_address("http://q.example:80") == "http://q.example:80/urls"
    assert queue_address("https://q.example/a/urls/") == "https://q.example/a/urls"
    for wrong in (
        *("q.example", "ftp://q.example", "http://", "http://me:secret@q.example"),
        *("http://q.example:99999", "http://[q.example"),
    ):
        with pytest.raises(UsageError):
            queue_address(wrong)
