"""nwx cdx"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli.index_options import index_options, index_options_of
from nwx.cli.list_commands import list_output
from nwx.cli.output import clean, counted
from nwx.cli.progress import progress_bar
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT

if TYPE_CHECKING:
    from nwx.archive_cdx import IndexReport

_ERRORS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    files: tuple[str, ...]
    fields: str
    cdxj: bool
    in_order: bool
    post_append: bool
    beside: bool
    output: Path | None
    tmp: Path | None
    jobs: int | None
    strict: bool
    quiet: bool


@click.command("cdx")
@click.argument("files", nargs=-1)
@index_options
@click.option("--beside", is_flag=True, help="Write FILE.cdx (or .cdxj) next to each FILE.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write one index to FILE, which appears when complete.  [default: standard output]",
)
@click.option(
    "--tmp",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="Folder for temporary files.  [default: TMPDIR]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Files to read in parallel.  [default: number of cores]",
)
@click.option("--strict", is_flag=True, help="Exit with code 1 after any error.")
@click.option("--quiet", is_flag=True, help="Show only errors.")
def command(**given: Any) -> int:
    """Write CDX files for archive files.

    FILES are WARC, ARC and WACZ files, compressed or not, named as for nwx
    import. Lines are as pywb's cdx-indexer writes them; with --cdxj, as
    cdxj-indexer does. The exit code is 1 if nothing could be read, or with
    --strict after any error.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.archive_cdx import index_beside, index_together
    from nwx.warc.sources import expand

    asked = _Options(**given)
    if not asked.files:
        raise UsageError("there is nothing to read; name files or folders")
    if asked.beside and (asked.output or STANDARD_INPUT in asked.files):
        raise UsageError("--beside takes neither --output nor standard input")
    options = index_options_of(
        asked.fields, cdxj=asked.cdxj, in_order=asked.in_order, post_append=asked.post_append
    )
    sources = list(expand(asked.files))
    with progress_bar(quiet=asked.quiet) as progress:
        if asked.beside:
            report = index_beside(sources, options, jobs=asked.jobs, progress=progress)
        else:
            with list_output(asked.output) as stream:
                report = index_together(
                    sources, stream, options, jobs=asked.jobs, tmp=asked.tmp, progress=progress
                )
    _print(report, err=not asked.beside and asked.output is None, quiet=asked.quiet)
    useful = report.lines or not report.errors
    return 0 if useful and not (asked.strict and report.errors) else 1


def _print(report: "IndexReport", *, err: bool, quiet: bool) -> None:
    for error in report.errors[:_ERRORS_SHOWN]:
        place = "" if error.offset is None else f" at {error.offset}"
        click.echo(clean(f"nwx: {error.file}{place}: {error.message} ({error.kind})"), err=True)
    if len(report.errors) > _ERRORS_SHOWN:
        click.echo(
            f"nwx: … and {counted(len(report.errors) - _ERRORS_SHOWN, 'more error')}", err=True
        )
    if not quiet:
        counts = (
            f"{counted(report.files, 'file')}, {counted(report.lines, 'line')}, "
            f"{counted(len(report.errors), 'error')}"
        )
        click.echo(counts, err=err)
