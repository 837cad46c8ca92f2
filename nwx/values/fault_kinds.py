"""The kinds of faults of a page in playback."""

from enum import StrEnum


class FaultKind(StrEnum):
    """The kinds of faults; the values are what indices, JSON and pages have."""

    MISSING = "missing"
    """A resource is not in the archive."""
    FAILED = "failed"
    """A resource of the archive was not played, or only as an error that the crawl did not get."""
    ORIGINAL = "original"
    """A resource was captured as a revisit only, and its original is in no file of the archive."""
    LEAK = "leak"
    """The page asked for something outside the archive; it got nothing."""
    CONSOLE = "console"
    """Scripts had more errors than in the crawl, or some where resources are missing."""
    REDIRECT_LOOP = "redirect_loop"
    """The page redirects to itself without end."""
    FAR = "far"
    """A resource was captured long before or after the page."""
    TIMEOUT = "timeout"
    """The page was not loaded when its time was up."""
    CRASH = "crash"
    """The page's browser process ended."""
    REFUSED = "refused"
    """The page did what no page may: a download, a dialog, a window, a service worker, a socket."""
