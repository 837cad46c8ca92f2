"""nwx check, backup and restore"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.bulk.progress import ShowProgress
from nwx.cli import option
from nwx.cli.deduplicate.list_options import place_and_message
from nwx.cli.output import (
    clean,
    counted,
    opened_archive,
    print_above,
    print_json,
    progress_bar,
    warn,
)
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.dedup.exclusion_lists import ExclusionList
    from nwx.maintenance.agreement import Disagreement
    from nwx.maintenance.cdx_comparison import CdxComparison, Missing

_SHOWN_OF_A_KIND = 100
_PROBLEMS_SHOWN = 20


@click.command("check")
@option.repeated(
    "--cdx",
    "CDX",
    "Compare with the captures in a CDX or CDXJ file (- is standard input).",
    into="files",
)
@option.repeated(
    "-e --exclude", "LIST", "With --cdx: captures on LIST are expected to be missing.", into="lists"
)
@option.string("--collection", "NAME", "With --cdx: check only this collection.")
@option.flag("--all", "List all problems, not only the first 100 of each kind.", into="everything")
@option.flag("--deep", "Read all archive files too, and compare each capture with its record.")
@option.flag("--end-loading", "First restore the settings changed by killed imports with --bulk.")
@option.JSON
@option.NO_PROGRESS
@click.pass_obj
def command(
    settings: Settings,
    files: tuple[str, ...],
    lists: tuple[str, ...],
    collection: str,
    everything: bool,
    deep: bool,
    end_loading: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Check that the indices agree with each other and with the import ledger.

    Checksums of stored files and tables are verified. The accounts file is checked too.

    With --cdx, check instead that the archive holds the date and the document
    of each capture in a CDX file. Missing captures are listed with the cause:
    the file was not imported, or only in part; an exclusion list left the
    capture out; its record could not be read; its digest differs; and so on.

    On a search server, lost shards are listed first: nothing can be compared without them.
    The exit code is 1 if anything is wrong, or missing but not on an exclusion list.
    """
    if not files and (lists or collection):
        raise UsageError("--exclude and --collection apply to the captures of CDX files; add --cdx")
    shown = _Shown(everything=everything, as_json=as_json, quiet=quiet)
    if end_loading:
        with opened_archive(settings) as archive:
            archive.end_loading()
    if files:
        return _compare(settings, files, lists, collection, shown)
    from nwx.maintenance.agreement import NO_FAULTS

    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        for finding in archive.check(progress, deep=deep):
            shown.add(finding.kind, _of_finding(finding), finding)
    wrong = Counter({kind: n for kind, n in shown.counts.items() if kind not in NO_FAULTS})
    if as_json:
        print_json({"agrees": not wrong, "findings": shown.counts, "first": shown.first})
    else:
        shown.end()
        click.echo(_verdict(wrong))
    return 1 if wrong else 0


def _verdict(counts: Counter[str]) -> str:
    from nwx.maintenance.agreement import CHANGED, SHARD

    if CHANGED in counts or SHARD in counts:
        return "the indices could not be compared"
    return counted(counts.total(), "disagreement") if counts else "the indices agree"


class _Shown:
    """Prints findings as they are found, the first of each kind or all, and counts them."""

    def __init__(self, *, everything: bool, as_json: bool, quiet: bool) -> None:
        self.counts: Counter[str] = Counter()
        self.first: list[dict[str, Any]] = []
        self._limit = None if everything else _SHOWN_OF_A_KIND
        self.as_json = as_json
        self.quiet = quiet
        self._printed = 0

    def add(self, kind: str, text: str, entry: "Disagreement | Missing") -> None:
        self.counts[kind] += 1
        if self._limit is not None and self.counts[kind] > self._limit:
            return
        self._printed += 1
        if self.as_json:
            self.first.append(asdict(entry))
        else:
            print_above(text)

    def end(self) -> None:
        """Print the number of findings that were not printed."""
        more = self.counts.total() - self._printed
        if more:
            click.echo(f"… and {more:,} more; --all lists them")


def _of_finding(finding: "Disagreement") -> str:
    checked = "not checked: " if finding.kind == "unchecked" else ""
    return clean(f"{finding.index} {finding.id}: {checked}{finding.message}")


def _of_missing(one: "Missing") -> str:
    return clean(f"{one.cause}: {one.timestamp} {one.digest} {one.url}: {one.message}")


def _compare(
    settings: Settings,
    files: tuple[str, ...],
    lists: tuple[str, ...],
    collection: str,
    shown: _Shown,
) -> int:
    from nwx.maintenance.cdx_comparison import Cause

    with (
        progress_bar(quiet=shown.quiet) as progress,
        _loaded(lists, progress) as excluded,
        opened_archive(settings) as archive,
    ):
        comparison = archive.cdx_comparison(collection, excluded)
        for one in comparison.missing(files, progress):
            shown.add(one.cause, _of_missing(one), one)
    for problem in comparison.problems[:_PROBLEMS_SHOWN]:
        warn(place_and_message(problem))
    if shown.as_json:
        print_json(_comparison_json(comparison, shown))
    else:
        shown.end()
        click.echo(_summary(comparison, shown.counts))
    wrong = shown.counts.total() - shown.counts[Cause.EXCLUDED]
    return 1 if wrong or (comparison.problems_total and not comparison.lines) else 0


@contextmanager
def _loaded(lists: tuple[str, ...], progress: ShowProgress) -> "Iterator[ExclusionList | None]":
    if not lists:
        yield None
        return
    from nwx.dedup.exclusion_lists import ExclusionList

    with ExclusionList.load(lists, progress=progress) as excluded:
        yield excluded


def _comparison_json(comparison: "CdxComparison", shown: _Shown) -> dict[str, Any]:
    return {
        "lines": comparison.lines,
        "held": comparison.held,
        "not_captures": comparison.not_captures,
        "missing": shown.counts,
        "problems_total": comparison.problems_total,
        "first": shown.first,
    }


def _summary(comparison: "CdxComparison", counts: Counter[str]) -> str:
    unread, others = comparison.problems_total, comparison.not_captures
    causes = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.items()))
    return (
        f"{counted(comparison.lines, 'capture')} in the CDX, {comparison.held:,} held,"
        f" {counts.total():,} missing"
        + (f" ({causes})" if causes else "")
        + (f"; {counted(others, 'line')} of records that are not captures" if others else "")
        + (f"; {counted(unread, 'line')} that cannot be read" if unread else "")
    )


@click.command("backup")
@click.argument("place")
@option.count("--keep", "N", "Keep only the N newest backups at PLACE.")
@option.flag("--check", "Check the backup as `nwx check` does; delete it if anything is wrong.")
@option.JSON_REPORT
@click.pass_obj
def backup_command(
    settings: Settings, place: str, keep: int | None, check: bool, as_json: bool, quiet: bool
) -> None:
    """Copy the whole archive to PLACE, consistently, while others write to it.

    PLACE is a folder. The backup is a folder in it, named by the time (UTC), and is itself
    an archive: search it with nwx --engine PLACE/NAME search. Files that never change are
    hard links to those of the archive, or of the previous backup; only a folder on another
    disk protects against disk failure.

    For an archive on a search server, PLACE is a snapshot repository registered there; the
    backup is a set of snapshots in it.
    """
    with (
        opened_archive(settings) as archive,
        progress_bar(quiet=quiet or as_json) as progress,
    ):
        made = archive.backup(place, keep=keep or 0, check=check, progress=progress)
    if as_json:
        print_json({"backup": made})
    elif not quiet:
        click.echo(clean(made))


@click.command("restore")
@click.argument("backup")
@click.argument("folder", type=option.FOLDER, required=False)
@option.flag("--replace", "Replace an existing archive.", into="replaced")
@option.QUIET
@click.pass_obj
def restore_command(
    settings: Settings, backup: str, folder: Path | None, replaced: bool, quiet: bool
) -> None:
    """Restore an archive from BACKUP, the PLACE/NAME printed by `nwx backup`.

    It is restored to FOLDER, by default that of --engine. The copy is checked as `nwx
    check` does, then moved into place in one step. With --replace, stop imports first, and
    restart `nwx serve` afterwards. On a search server, the replaced indices are deleted
    first.
    """
    if folder is not None:
        settings = replace(settings, engine=str(folder))
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        archive.restore(backup, replace=replaced, progress=progress)
    if not quiet:
        click.echo(f"restored to {clean(archive.settings.engine)}")
