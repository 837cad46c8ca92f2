"""Watching: loading archive files into an archive as a crawler writes them.

`folders` finds complete files and moves loaded ones, `watcher` loads them, and `events` defines
the reported events.
"""

from nwx.watching.events import Event, EventKind, WatchReport
from nwx.watching.folders import Folders
from nwx.watching.watcher import PageListener, WatchOptions, watch

__all__ = ["Event", "EventKind", "Folders", "PageListener", "WatchOptions", "WatchReport", "watch"]
