"""nwx dedup-cdx, revisits and dedup-warc"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import (
    SELECTION_OPTIONS,
    dedup_options,
    exit_code,
    list_options,
    list_output,
    print_problems,
    print_report,
    resources_of,
    selection_of,
    sources_of,
)
from nwx.cli.output import (
    clean,
    counted,
    error_line,
    print_json,
    progress_bar,
    size_words,
    warn,
)
from nwx.errors import SourceError, UsageError
from nwx.model import ReadError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.dedup.revisit_records import Rewritten
    from nwx.dedup.tasks import DedupReport
    from nwx.warc.sources import ArchiveSource


@click.command("dedup-cdx", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1)
@dedup_options
@list_options
@click.pass_obj
def dedup_cdx_command(
    settings: Settings, /, files: tuple[str, ...], against: tuple[str, ...], **given: Any
) -> int:
    """List the duplicates in CDX files.

    Duplicates are the second and later captures of a URL and digest.

    FILES are CDX files of 7, 9, 10, 11 or 14 fields or with a header, or CDXJ
    files; plain, gzip or zstd; sorted or not; - is standard input. The list has
    one line `date digest url` for each duplicate, in the order and with the
    values of the input. `nwx import -e` leaves out the captures on it, and
    `add-dates` adds their dates.

    Captures of a URL and digest are compared across all files. Lines that cannot be read
    are reported and skipped; lines without a digest are never duplicates.
    """
    from nwx.cdx.inputs import CdxSource
    from nwx.dedup.duplicates import find_duplicates
    from nwx.dedup.sorted_input import held_lines, is_archive

    selected = {name: given.pop(name) for name in SELECTION_OPTIONS}
    archives = list(filter(is_archive, against))
    held = [CdxSource(place, held=True) for place in against if place not in archives]
    return _write_list(
        "duplicates",
        files,
        lambda sources, stream, **options: find_duplicates(
            [*sources, *held],
            stream,
            selection_of(**selected),
            held=held_lines(settings, archives, options["progress"]) if archives else None,
            **options,
        ),
        **given,
    )


@click.command("revisits", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1)
@list_options
def revisits_command(files: tuple[str, ...], **given: Any) -> int:
    """List the revisit records in CDX files.

    The list has the form that dedup-cdx writes. Revisits are lines of MIME type
    warc/revisit and, in files of 9 fields, lines with `-` as file name. FILES
    are read as by dedup-cdx.
    """
    from nwx.dedup.duplicates import find_revisits

    def find(*found: Any, **options: Any) -> "DedupReport":
        report = find_revisits(*found, **options)
        report.filtered = 0  # these are all other captures
        return report

    return _write_list("revisits", files, find, **given)


def _write_list(
    noun: str,
    files: tuple[str, ...],
    find: "Callable[..., DedupReport]",
    *,
    output: Path | None,
    fields: str | None,
    summary: bool,
    as_json: bool,
    strict: bool,
    quiet: bool,
    **resources: Any,
) -> int:
    sources = sources_of(files, fields)
    with list_output(output) as stream, progress_bar(quiet=quiet) as progress:
        report = find(
            sources,
            stream,
            resources=resources_of(**resources),
            strict=strict,
            summary=summary or as_json,
            progress=progress,
        )
    print_report(report, noun, summary=summary, as_json=as_json, listed=output is None, quiet=quiet)
    return exit_code(report)


_LEFT_SHOWN = 20


@click.command("dedup-warc")
@click.argument("files", nargs=-1)
@option.repeated(
    "-e --exclude",
    "LIST",
    "List of duplicates, as written by dedup-cdx and revisits.",
    into="lists",
    required=True,
)
@option.value(
    "-o --output",
    option.FOLDER,
    "FOLDER",
    "Folder for the new files, which keep their names.",
    into="folder",
    required=True,
)
@option.JSON_REPORT
def dedup_warc_command(
    files: tuple[str, ...], lists: tuple[str, ...], folder: Path, as_json: bool, quiet: bool
) -> int:
    """Rewrite WARC files with revisit records in place of duplicates.

    FILES are local WARC files, plain or with a gzip member for each record. A capture on
    LIST becomes a WARC 1.1 revisit record with its HTTP header if its payload was read and
    is the same as that of an earlier capture in FILES; every other byte is copied. Before a
    new file appears, it is read again and the payload of each record is compared with the
    old file. The old files are not changed. Run the same command again to resume a stopped
    run.
    """
    from nwx.dedup.exclusion_lists import ExclusionList
    from nwx.dedup.warc_rewrite import rewrite

    sources = _sources(files)
    with (
        progress_bar(quiet=quiet) as progress,
        ExclusionList.load(lists, progress=progress) as excluded,
    ):

        def never_met() -> int:
            return excluded.entries - excluded.met

        done = list(rewrite(sources, excluded.covers, folder, progress, lists, never_met))
        # A finished run does not read the files again.
        unmet = done[-1].never_met if done else never_met()
        problems, unread = excluded.problems, excluded.problems_total
    print_problems(problems, unread)
    if as_json:
        print_json(_report(done, unmet) | {"problems_total": unread})
    else:
        _print_report(done, unmet, quiet=quiet)
    return 0


def _sources(files: Sequence[str]) -> "list[ArchiveSource]":
    from nwx.warc.sources import expand

    if not files:
        raise UsageError("there is nothing to rewrite; name WARC files or folders")
    sources = []
    for found in expand(files):
        if isinstance(found, ReadError):
            raise SourceError(error_line(found, kind=False))
        sources.append(found)
    return sources


def _report(done: "Sequence[Rewritten]", never_met: int) -> dict[str, object]:
    return {
        "files": len(done),
        "revisits": sum(one.revisits for one in done),
        "revisits_before": sum(one.before for one in done),
        "bytes_before": sum(one.bytes_before for one in done),
        "bytes_after": sum(one.bytes_after for one in done),
        "never_met": never_met,
        "left": [
            {"file": e.file, "offset": e.offset, "kind": e.kind, "message": e.message}
            for one in done
            for e in one.left
        ],
    }


def _print_report(done: "Sequence[Rewritten]", never_met: int, *, quiet: bool) -> None:
    left = [error for one in done for error in one.left]
    for error in left[:_LEFT_SHOWN]:
        warn(f"{clean(error.file)} at {error.offset}: left unchanged: {clean(error.message)}")
    if len(left) > _LEFT_SHOWN:
        warn(f"… and {len(left) - _LEFT_SHOWN} more left unchanged")
    if quiet:
        return
    before, after = (sum(one.bytes_before for one in done), sum(one.bytes_after for one in done))
    change = "saved" if before >= after else "more"
    already = sum(one.before for one in done)
    click.echo(
        f"{counted(len(done), 'file')},"
        f" {counted(sum(one.revisits for one in done), 'duplicate')} became revisits,"
        + (f" {already} were revisits before," if already else "")
        + f" {len(left)} were left unchanged;"
        f" {counted(never_met, 'line')} of the lists matched no capture\n"
        f"{size_words(before)} became {size_words(after)}:"
        f" {size_words(abs(before - after))} {change}"
    )
