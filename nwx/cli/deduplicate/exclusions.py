"""The exclusion lists of an import: loading, and reports on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from nwx.bulk.whole_files import whole_file
from nwx.cdx.layouts import DATE_FIRST
from nwx.cdx.rows import format_cdx
from nwx.cli.deduplicate.list_options import place_and_message
from nwx.cli.output import clean, counted, progress_bar, warn
from nwx.dedup.exclusion_lists import ExclusionList
from nwx.errors import CdxError
from nwx.importing import ExclusionReport

_SHOWN = 10


@contextmanager
def loaded(lists: tuple[str, ...], *, strict: bool, quiet: bool) -> Iterator[ExclusionList]:
    """Load exclusion lists, and print their unreadable lines.

    Raises CdxError for the first unreadable line if `strict`.
    """
    with progress_bar(quiet=quiet) as progress:
        excluded = ExclusionList.load(lists, progress=progress)
    with excluded:
        problems = [place_and_message(problem) for problem in excluded.problems[:_SHOWN]]
        if problems and strict:
            raise CdxError(f"{problems[0]}; nothing is imported because of --strict")
        for problem in problems:
            warn(problem)
        more = excluded.problems_total - len(problems)
        if more:
            warn(f"… and {counted(more, 'more line')} that cannot be read")
        yield excluded


def tell_unmet(
    excluded: ExclusionList, report: ExclusionReport, file: Path | None, *, quiet: bool
) -> None:
    """Print the first entries that were never met, and write all to `file` if given."""
    if file:
        _write(excluded, file)
    if quiet or not report.unmet:
        return
    for line in islice(excluded.unmet(), _SHOWN):
        warn(f"matched no capture: {clean(format_cdx(line, DATE_FIRST))}")
    more = report.unmet - _SHOWN
    if more > 0:
        where = f"{file} lists them" if file else "--unmet FILE lists them"
        warn(f"… and {counted(more, 'more entry')} that matched no capture; {where}")


def _write(excluded: ExclusionList, file: Path) -> None:
    with whole_file(file) as stream:
        for line in excluded.unmet():
            text = format_cdx(line, DATE_FIRST)
            stream.write(text.encode("utf-8", "surrogateescape") + b"\n")


def summary(report: ExclusionReport) -> str:
    """Return the report on the lists as text."""
    before = f" ({report.met_before:,} by an earlier import)" if report.met_before else ""
    unread = report.problems_total
    return (
        f"{counted(report.entries, 'entry')} on the exclusion list, {report.met:,}"
        f" matched{before}, {report.unmet:,} not matched"
        + (f"; {counted(unread, 'line')} that cannot be read" if unread else "")
    )
