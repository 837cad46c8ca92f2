"""Watching: loading archive files into an archive as a crawler writes them.

`folders` finds complete files and moves loaded ones; `watcher` loads them and reports events.
"""

from nwx.watching.folders import Folders
from nwx.watching.watcher import (
    Event,
    EventKind,
    PageListener,
    WatchOptions,
    WatchReport,
    watch,
)

__all__ = ["Event", "EventKind", "Folders", "PageListener", "WatchOptions", "WatchReport", "watch"]
