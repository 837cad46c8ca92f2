"""The bounds of one extraction, so that no document stalls an import."""

import time
from collections.abc import Callable
from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExtractLimits:
    """How much of a payload is read and kept.

    `seconds` is looked at between steps: a native call cannot be stopped,
    its input is bounded by the other limits instead.
    """

    bytes: int = 16 * MIB
    characters: int = 2_000_000  # of text
    links: int = 10_000
    headings: int = 1_000
    depth: int = 512  # of nested elements, as in browsers
    tags: int = 1_000_000
    pages: int = 1_000  # of a PDF
    unpacked_bytes: int = 128 * MIB  # of the parts of an office file
    seconds: float = 20.0
    memory_bytes: int = 512 * MIB  # of the process that reads a PDF


@dataclass(frozen=True, slots=True)
class ExtractPayload:
    """What a family is given: bytes, what was said about them, and the bounds."""

    data: bytes
    url: str
    content_type: str
    charset: str
    parser: str
    limits: ExtractLimits
    deadline: float
    clock: Callable[[], float] = time.monotonic

    def late(self) -> bool:
        """Return whether the time for this payload is over."""
        return self.clock() > self.deadline
