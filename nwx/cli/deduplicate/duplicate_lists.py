"""nwx dedup-cdx and nwx revisits"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from nwx.cli.progress import progress_bar
from nwx.settings import Settings


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    files: tuple[str, ...]
    against: tuple[str, ...]
    output: Path | None
    fields: str | None
    summary: bool
    as_json: bool
    strict: bool
    memory: int
    tmp: Path | None
    jobs: int | None
    quiet: bool


@click.command("dedup-cdx", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1)
@dedup_options
@list_options
@click.pass_obj
def dedup_cdx_command(settings: Settings, /, **given: Any) -> int:
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
    # Imported here: whoever asks for help need not wait for it.
    from nwx.cdx.inputs import CdxSource
    from nwx.dedup.duplicates import find_duplicates
    from nwx.dedup.held_archives import held_lines, is_archive

    selected = {name: given.pop(name) for name in SELECTION_OPTIONS}
    asked = _Options(**given)
    sources = sources_of(asked.files, asked.fields)
    archives = list(filter(is_archive, asked.against))
    sources += [CdxSource(place, held=True) for place in asked.against if place not in archives]
    with list_output(asked.output) as stream, progress_bar(quiet=asked.quiet) as progress:
        report = find_duplicates(
            sources,
            stream,
            selection_of(**selected),
            resources=resources_of(asked.memory, asked.tmp, asked.jobs),
            held=held_lines(settings, archives, progress) if archives else None,
            strict=asked.strict,
            summary=asked.summary or asked.as_json,
            progress=progress,
        )
    print_report(
        report,
        "duplicates",
        summary=asked.summary,
        as_json=asked.as_json,
        listed=asked.output is None,
        quiet=asked.quiet,
    )
    return exit_code(report)


@dataclass(frozen=True, slots=True)
class _RevisitOptions:
    """The arguments of the command, as click names them."""

    files: tuple[str, ...]
    output: Path | None
    fields: str | None
    summary: bool
    as_json: bool
    strict: bool
    memory: int
    tmp: Path | None
    jobs: int | None
    quiet: bool


@click.command("revisits", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1)
@list_options
def revisits_command(**given: Any) -> int:
    """List the revisit records in CDX files.

    The list has the form that dedup-cdx writes. Revisits are lines of MIME type
    warc/revisit and, in files of 9 fields, lines with `-` as file name. FILES
    are read as by dedup-cdx.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.dedup.duplicates import find_revisits

    asked = _RevisitOptions(**given)
    sources = sources_of(asked.files, asked.fields)
    with list_output(asked.output) as stream, progress_bar(quiet=asked.quiet) as progress:
        report = find_revisits(
            sources,
            stream,
            resources=resources_of(asked.memory, asked.tmp, asked.jobs),
            strict=asked.strict,
            summary=asked.summary or asked.as_json,
            progress=progress,
        )
    report.filtered = 0  # all that are no revisits
    print_report(
        report,
        "revisits",
        summary=asked.summary,
        as_json=asked.as_json,
        listed=asked.output is None,
        quiet=asked.quiet,
    )
    return exit_code(report)
