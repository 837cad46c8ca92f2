"""Misbehaving extractors, controlled by payloads and meant for a separate process."""

import ctypes
import os
import re
import signal
from pathlib import Path
from typing import Any

from nwx.extract import extract
from nwx.model import Extract

HANG, CRASH, HOARD, FAIL = b"HANG", b"CRASH", b"HOARD", b"FAIL"


def hostile_extract(data: bytes, **options: Any) -> Extract:
    """Extract a payload, unless it contains a command to hang, crash, use up memory or fail."""
    while HANG in data:
        pass
    if CRASH in data:
        ctypes.string_at(0)
    if (found := re.search(rb"KILL(\d+):(\S+);", data)) is not None:
        # The number of kills: the file gets one character for each.
        told = Path(os.fsdecode(found[2]))
        if not told.exists() or told.stat().st_size < int(found[1]):
            with told.open("a") as stream:
                stream.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
    if HOARD in data:
        hoard = []
        while True:
            hoard.append(bytearray(64 << 20))
    if FAIL in data:
        raise ValueError("a parser's own fault")
    return extract(data, **options)
