"""Watching: the index follows a crawl, file by file as the crawler closes them.

`folders` tells which files are whole and puts loaded ones elsewhere,
`watcher` loads them, and `events` is what it says on the way.
"""

from nwx.watching.events import Event, EventKind, WatchReport
from nwx.watching.folders import Folders
from nwx.watching.watcher import PageListener, WatchOptions, watch

__all__ = ["Event", "EventKind", "Folders", "PageListener", "WatchOptions", "WatchReport", "watch"]
