"""nwx cdx"""

from pathlib import Path

import click

from nwx.cli.list_commands import list_output, step_bar
from nwx.cli.output import clean
from nwx.errors import UsageError
from nwx.indexing.cdx_files import IndexOptions, IndexReport, index_beside, index_together
from nwx.indexing.index_lines import IndexLineForm
from nwx.warc.sources import STANDARD_INPUT, expand

_ERRORS_SHOWN = 20
_FORMS = {"9": IndexLineForm.CDX9, "11": IndexLineForm.CDX11}


@click.command("cdx")
@click.argument("files", nargs=-1)
@click.option(
    "--fields",
    type=click.Choice(list(_FORMS)),
    default="11",
    show_default=True,
    help="Fields of a CDX line.",
)
@click.option("--cdxj", is_flag=True, help="Write CDXJ.")
@click.option(
    "--sort/--no-sort",
    "in_order",
    default=True,
    show_default=True,
    help="In the order of bytes, as CDX are looked up, or as the records stand.",
)
@click.option(
    "--post-append", is_flag=True, help="Tell POST requests apart by their bodies, in urlkeys."
)
@click.option("--beside", is_flag=True, help="Write FILE.cdx (or .cdxj) beside each FILE.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where one index of all goes; it appears when it is whole.  [standard output]",
)
@click.option(
    "--tmp",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="Where temporary files go.  [TMPDIR]",
)
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Files to read at once.  [the cores]"
)
@click.option("--strict", is_flag=True, help="Fail (exit code 1) when there was any error.")
@click.option("--quiet", is_flag=True, help="Show neither progress nor counts, only errors.")
def command(
    files: tuple[str, ...],
    fields: str,
    cdxj: bool,
    in_order: bool,
    post_append: bool,
    beside: bool,
    output: Path | None,
    tmp: Path | None,
    jobs: int | None,
    strict: bool,
    quiet: bool,
) -> int:
    """Write CDX of archive files.

    FILES are WARC, ARC and WACZ, compressed or not, named as for nwx
    import. The lines are those of pywb's cdx-indexer, with --cdxj those of
    cdxj-indexer. The exit code is 1 when nothing could be read, or with
    --strict after any error.
    """
    if not files:
        raise UsageError("there is nothing to read; name files or folders")
    if beside and (output or STANDARD_INPUT in files):
        raise UsageError("--beside takes neither --output nor standard input")
    options = IndexOptions(IndexLineForm.CDXJ if cdxj else _FORMS[fields], in_order, post_append)
    sources = list(expand(files))
    with step_bar(quiet=quiet) as progress:
        if beside:
            report = index_beside(sources, options, jobs=jobs, progress=progress)
        else:
            with list_output(output) as stream:
                report = index_together(
                    sources, stream, options, jobs=jobs, tmp=tmp, progress=progress
                )
    _print(report, err=not beside and output is None, quiet=quiet)
    useful = report.lines or not report.errors
    return 0 if useful and not (strict and report.errors) else 1


def _print(report: IndexReport, *, err: bool, quiet: bool) -> None:
    for error in report.errors[:_ERRORS_SHOWN]:
        place = "" if error.offset is None else f" at {error.offset}"
        click.echo(clean(f"nwx: {error.file}{place}: {error.message} ({error.kind})"), err=True)
    if len(report.errors) > _ERRORS_SHOWN:
        click.echo(f"nwx: … and {len(report.errors) - _ERRORS_SHOWN:,} more errors", err=True)
    if not quiet:
        counts = f"{report.files:,} files, {report.lines:,} lines, {len(report.errors):,} errors"
        click.echo(counts, err=err)
