"""Scores of playback as a table on a terminal."""

from collections import Counter
from collections.abc import Iterable

from rich.table import Table

from nwx.cli.output import date_words
from nwx.cli.tables.terminal_console import OneLine, console
from nwx.engine.indices.quality_index import PlaybackScore


def print_playback_scores(scores: Iterable[PlaybackScore]) -> None:
    """Print scores of pages, as they come."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for title in ("score", "screenshot", "text", "resources"):
        table.add_column(title, justify="right")
    table.add_column("faults")
    table.add_column("captured")
    table.add_column("page")
    for score in scores:
        table.add_row(
            f"{score.score:.3f}",
            _share(score.screenshot),
            _share(score.text),
            _resources(score),
            _faults(score),
            date_words(score.timestamp),
            OneLine(score.url),
        )
    if table.row_count:
        console().print(table)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _resources(score: PlaybackScore) -> str:
    """Return how many of the resources came."""
    good, bad = score.replay_good or 0, score.replay_bad or 0
    return f"{good:,}/{good + bad:,}"


def _faults(score: PlaybackScore) -> str:
    kinds = Counter(fault.kind.replace("_", " ") for fault in score.faults)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
