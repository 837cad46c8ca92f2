"""One stored record, of a WARC or an ARC, before it is made sense of."""

import hashlib
import re
from typing import Any

from nwx.values.http import NO_HEAD, Fields, HttpHead, request_head, response_head

TYPES = frozenset(
    (
        "warcinfo",
        "response",
        "resource",
        "request",
        "metadata",
        "revisit",
        "conversion",
        "continuation",
    )
)
UNKNOWN_TYPE = "unknown"

_HTTP_KINDS = frozenset(("response", "request", "revisit"))
_HTTP_URL = re.compile(rb"\s*<?https?:", re.I)


class Record:
    """A record: its fields, its place, and the block as far as it is kept.

    ARC records have the fields of a WARC response. `length` is in bytes as
    stored, of the member or of head and block. `block` holds the first
    bytes only where the block is longer than what is kept; the digests of
    such blocks were asked for before the rest went by (`hashers`).
    """

    __slots__ = (
        "block",
        "block_length",
        "fields",
        "format",
        "hashers",
        "http",
        "kind",
        "length",
        "offset",
    )

    def __init__(self, kind: str, fmt: str, fields: Fields, offset: int) -> None:
        self.kind = kind
        self.format = fmt
        self.fields = fields
        self.offset = offset
        self.length = 0
        self.block: bytes | memoryview = b""
        self.block_length = 0
        self.hashers: dict[tuple[str, int], Any] | None = None
        self.http: HttpHead | None = None

    def http_head(self) -> HttpHead:
        """Return the HTTP head at the start of the block, NO_HEAD where there is none."""
        if self.http is None:
            self.http = self._read_http_head()
        return self.http

    def _read_http_head(self) -> HttpHead:
        if self.kind not in _HTTP_KINDS or not _HTTP_URL.match(self.fields.get(b"warc-target-uri")):
            return NO_HEAD
        return request_head(self.block) if self.kind == "request" else response_head(self.block)

    def body(self) -> bytes | memoryview:
        """Return the block behind the HTTP head, as far as it is kept."""
        return self.block[self.http_head().size :]

    @property
    def kept_whole(self) -> bool:
        """Whether `block` is all of the block."""
        return len(self.block) == self.block_length

    def digest(self, algorithm: str, start: int = 0) -> bytes | None:
        """Return the digest of the block from `start` on, None where it went by unasked."""
        if self.kept_whole:
            block = self.block[start:]
            return hashlib.new(algorithm, block, usedforsecurity=False).digest()
        hasher = (self.hashers or {}).get((algorithm, start))
        return None if hasher is None else hasher.digest()

    def ask(self, algorithm: str, start: int) -> None:
        """Ask for a digest of a block that is longer than what is kept."""
        hasher = hashlib.new(algorithm, self.block[start:], usedforsecurity=False)
        self.hashers = {**(self.hashers or {}), (algorithm, start): hasher}
