"""Stored bytes, read sequentially with their offsets."""

import io

import pytest

from nwx.errors import FormatError
from nwx.warc.stored_bytes import BLOCK_BYTES, Raw


class Failing(io.BytesIO):
    def __init__(self, error: Exception) -> None:
        super().__init__(b"front")
        self._error = error
        self._reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self._reads += 1
        if self._reads > 1:
            raise self._error
        return super().read(size)


def test_offsets_count_on_over_blocks() -> None:
    data = bytes(range(256)) * (BLOCK_BYTES // 128)
    raw = Raw(io.BytesIO(data), 10)
    assert raw.peek(4) == data[10:14]
    while raw.fill():
        raw.pos = len(raw.data)
    assert raw.offset == len(data)


def test_peek_leaves_the_place() -> None:
    raw = Raw(io.BytesIO(b"abcdef"))
    assert raw.peek(3) == b"abc"
    assert raw.offset == 0
    assert raw.peek(99) == b"abcdef"


@pytest.mark.parametrize(
    ("error", "kind"),
    [(OSError("disk"), "read"), (EOFError("cut"), "read"), (FormatError("x"), "zip")],
)
def test_bytes_end_where_reading_fails_and_the_cause_is_kept(error: Exception, kind: str) -> None:
    raw = Raw(Failing(error))
    assert raw.peek(100) == b"front"
    assert raw.failure
    assert raw.failure_kind == kind
