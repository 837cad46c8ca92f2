"""nwx dedup-cdx and nwx revisits"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli.deduplicate.dedup_options import (
    SELECTION_OPTIONS,
    dedup_options,
    selection_of,
)
from nwx.cli.deduplicate.list_options import (
    exit_code,
    list_options,
    list_output,
    print_report,
    resources_of,
    sources_of,
)
from nwx.cli.output import progress_bar
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.dedup.tasks import DedupReport


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

    All captures of a URL and digest are compared, in whatever files they are.
    Lines that cannot be read are reported and skipped; lines without a digest
    are never duplicates.
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
        report.filtered = 0  # all that are no revisits
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
