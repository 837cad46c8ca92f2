"""Tables of playback scores, in their own module as the commands' help does not need them."""

from collections import Counter
from collections.abc import Iterable, Sequence

import click

from nwx.cli.output import counted, date_words
from nwx.cli.terminal import OneLine, console, plain_table
from nwx.quality.scores import PlaybackScore, QualityTotals


def print_playback_scores(scores: Iterable[PlaybackScore]) -> None:
    """Print the scores of pages, in the given order."""
    numbers = ("score", "screenshot", "text", "resources")
    table = plain_table(*numbers, "faults", "captured", "page", right=numbers, header_style="")
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
    """Return the number of resources that loaded, and of all."""
    good, bad = score.replay_good or 0, score.replay_bad or 0
    return f"{good:,}/{good + bad:,}"


def _faults(score: PlaybackScore) -> str:
    kinds = Counter(fault.kind.replace("_", " ") for fault in score.faults)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


_HOSTS_SHOWN = 10


def print_scores(totals: QualityTotals, scores: Sequence[PlaybackScore]) -> None:
    """Print the number of pages, totals by fault and site, and the scores of some pages."""
    click.echo(f"{counted(totals.pages, 'page')} checked, mean score {totals.mean_score or 0:.3f}")
    for name, groups in (("fault", totals.kinds), ("site", totals.hosts[:_HOSTS_SHOWN])):
        if groups:
            numbers = ("pages", "mean score")
            table = plain_table(name, *numbers, right=numbers, header_style="")
            for group in groups:
                table.add_row(OneLine(group.value), f"{group.pages:,}", f"{group.mean_score:.3f}")
            console().print(table)
    numbers = ("score", "faults")
    table = plain_table(*numbers, "captured", "page", right=numbers, header_style="")
    for one in scores:
        cells = (f"{one.score:.3f}", f"{one.faults_total:,}", date_words(one.timestamp))
        table.add_row(*cells, OneLine(one.url))
    console().print(table)
    if len(scores) < totals.pages:
        click.echo(f"The first {len(scores):,}; --limit shows more, --csv prints all.")
