"""How many URLs wait, as Heritrix says in its progress-statistics.log."""

from pathlib import Path

STATISTICS_LOG = "progress-statistics.log"
_LAST_BYTES = 16 << 10
_NAMES = ("discovered", "queued", "downloaded")


def logged_queue(crawl_log: Path) -> dict[str, int] | None:
    """Return the counts of the last line of the log beside a crawl.log, None without one.

    They are `discovered`, `queued` and `downloaded` URLs.
    """
    path = crawl_log.with_name(STATISTICS_LOG)
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _LAST_BYTES))
            data = stream.read(_LAST_BYTES)
    except OSError:
        return None
    whole = data[: data.rfind(b"\n") + 1].decode("ascii", "replace")
    for line in reversed(whole.splitlines()):
        counts = line.split()[1:4]
        if len(counts) == len(_NAMES) and all(map(_is_count, counts)):
            return dict(zip(_NAMES, map(int, counts), strict=True))
    return None


def _is_count(text: str) -> bool:
    return len(text) < 16 and text.isascii() and text.isdigit()
