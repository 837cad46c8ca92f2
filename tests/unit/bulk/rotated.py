"""A log that is written, rotated and read, for tests of log followers."""

import gzip
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

from nwx.bulk.log_follower import FollowedPlace, LogFollower


def line(number: int) -> bytes:
    """Return a log line with a unique time and a unique end."""
    return f"{number:017} line {number:06}\n".encode()


def time_of(text: bytes) -> str:
    """Return the time in a line."""
    digits = text[:17]
    whole = len(digits) == 17 and digits.isdigit() and text[17:] == b" line %06d" % int(digits)
    return digits.decode() if whole else ""


class RotatedLog:
    """A log in a folder: written text is appended to `written`, text read to `found`."""

    def __init__(self, folder: Path) -> None:
        """Start without a file."""
        self.path = folder / "crawl.log"
        self.written = b""
        self.found = b""
        self.problems: list[str] = []
        self.place = FollowedPlace()
        self.follower = LogFollower(self.path, time_of)
        self._rotations = 0
        self._clock = 0

    def _touch(self, path: Path) -> None:
        # File system clocks are coarse; rotated log files are minutes apart.
        self._clock += 1_000_000_000
        os.utime(path, ns=(self._clock, self._clock))

    def write(self, text: bytes) -> None:
        """Append to the log."""
        with self.path.open("ab") as stream:
            stream.write(text)
        self._touch(self.path)
        self.written += text

    def rename(self) -> Path:
        """Rename the log to its next name."""
        self._rotations += 1
        return self.path.rename(self.path.with_name(f"crawl.log.cp{self._rotations:05}"))

    def shift(self) -> Path:
        """Rename the log to .1, and earlier ones to higher numbers."""
        older = [path for path in self.path.parent.iterdir() if path.name.split(".")[2:3]]
        for path in sorted(older, key=lambda one: -_number(one)):
            if number := _number(path):
                path.rename(path.with_name(path.name.replace(f".{number}", f".{number + 1}", 1)))
        return self.path.rename(self.path.with_name("crawl.log.1"))

    def copy_and_truncate(self) -> Path:
        """Copy the log, and truncate it."""
        self._rotations += 1
        copy = self.path.with_name(f"crawl.log-{self._rotations:05}")
        shutil.copyfile(self.path, copy)
        self._touch(copy)
        os.truncate(self.path, 0)
        return copy

    def pack(self, path: Path) -> None:
        """Compress a rotated file."""
        stat = path.stat()
        packed = path.with_name(f"{path.name}.gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        os.utime(packed, ns=(stat.st_mtime_ns, stat.st_mtime_ns))
        path.unlink()

    def look(self) -> None:
        """Read new lines."""
        while part := self.follower.read(self.place):
            self.found += part.lines
            self.problems += part.problems
            self.place = part.place

    def restart(self) -> None:
        """Forget everything but the saved position."""
        self.follower.close()
        self.follower = LogFollower(self.path, time_of)
        self.place = FollowedPlace(**json.loads(json.dumps(asdict(self.place))))

    @property
    def whole(self) -> bytes:
        """The written text up to the last complete line."""
        return self.written[: self.written.rfind(b"\n") + 1]


def _number(path: Path) -> int:
    text = path.name.split(".")[2]
    return int(text) if text.isdigit() else 0
