"""What Heritrix has fetched, read from the crawl.log that it writes."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nwx.errors import SourceError
from nwx.values.crawl_log import LoggedFetch, logged_fetch

_MOST_BYTES = 4 << 20
_NAME = "crawl.log"


@dataclass(frozen=True, slots=True)
class LogPlace:
    """How far a log was read; the log is known by its inode, for Heritrix renames it."""

    inode: int = 0
    offset: int = 0


def read_crawl_log(folder: Path, place: LogPlace) -> tuple[list[LoggedFetch], LogPlace]:
    """Return what was added to the log in a folder since `place`, and the place that follows it.

    At a checkpoint Heritrix renames crawl.log and begins another: the rest
    of the old one is read first, then what was renamed after it. A line
    that is not ended yet is left for the next time. At most 4 MB are read;
    nothing where there is no log.
    Raises SourceError where the log cannot be read.
    """
    try:
        paths = _logs_from(folder, place.inode)
        if not paths:
            return [], place
        found, following = _read(paths[0], place)
        if following == place and len(paths) > 1:
            return _read(paths[1], LogPlace())
        return found, following
    except OSError as error:
        raise SourceError(f"{folder / _NAME} cannot be read: {error.strerror}") from error


def _logs_from(folder: Path, inode: int) -> list[Path]:
    """Return the logs in their order, from the one with an inode, or else from the first."""
    try:
        logs = [entry for entry in os.scandir(folder) if entry.name.startswith(_NAME)]
    except FileNotFoundError:
        return []
    named = {entry.name: entry.inode() for entry in logs if not entry.name.endswith(".lck")}
    # The names of renamed logs begin with the number of the checkpoint.
    ordered = sorted(named, key=lambda name: (name == _NAME, name))
    first = next((place for place, name in enumerate(ordered) if named[name] == inode), 0)
    return [folder / name for name in ordered[first:]]


def _read(path: Path, place: LogPlace) -> tuple[list[LoggedFetch], LogPlace]:
    with path.open("rb") as stream:
        inode = os.fstat(stream.fileno()).st_ino
        offset = place.offset if inode == place.inode else 0
        stream.seek(offset)
        data = stream.read(_MOST_BYTES)
    whole = data[: data.rfind(b"\n") + 1]
    return list(_fetches(whole)), LogPlace(inode, offset + len(whole))


def _fetches(data: bytes) -> Iterator[LoggedFetch]:
    """Yield the lines that name a page; names of hosts that were looked up are none."""
    found = map(logged_fetch, data.decode("utf-8", "replace").split("\n"))
    return (fetch for fetch in found if fetch and "://" in fetch.url)
