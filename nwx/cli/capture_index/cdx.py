"""nwx cdx and nwx cdx-load"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import list_output
from nwx.cli.options import bulk_option, index_options, index_options_of
from nwx.cli.output import counted, opened_archive, print_errors, print_json, progress_bar, warn
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.archive_cdx import IndexReport
    from nwx.cdxserver.loaded_lines import Loaded


@click.command("cdx")
@click.argument("files", nargs=-1)
@index_options
@option.flag("--beside", "Write FILE.cdx (or .cdxj) next to each FILE.")
@option.file_path(
    "-o --output",
    "Write one index to FILE, which appears when complete.  [default: standard output]",
)
@option.value(
    "--tmp",
    click.Path(path_type=Path, file_okay=False, exists=True),
    "FOLDER",
    "Folder for temporary files.  [default: TMPDIR]",
)
@option.FILE_JOBS
@option.flag("--strict", "Exit with code 1 after any error.")
@option.QUIET
def cdx_command(
    files: tuple[str, ...],
    beside: bool,
    output: Path | None,
    tmp: Path | None,
    jobs: int | None,
    strict: bool,
    quiet: bool,
    **lines: Any,
) -> int:
    """Write CDX files for archive files.

    FILES are WARC, ARC and WACZ files, compressed or not, named as for nwx
    import. Lines are as pywb's cdx-indexer writes them; with --cdxj, as
    cdxj-indexer does. The exit code is 1 if nothing could be read, or with
    --strict after any error.
    """
    from nwx.archive_cdx import index_beside, index_together
    from nwx.warc.sources import ArchiveSource, expand

    if not files:
        raise UsageError("there is nothing to read; name files or folders")
    if beside and (output or STANDARD_INPUT in files):
        raise UsageError("--beside cannot be combined with --output or standard input")
    options = index_options_of(**lines)
    sources = list(expand(files))
    read = (Path(one.path) for one in sources if isinstance(one, ArchiveSource))
    if output and any(path.resolve() == output.resolve() for path in read):
        raise UsageError(f"{output} is one of the files to read; name another output")
    with progress_bar(quiet=quiet) as progress:
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


def _print(report: "IndexReport", *, err: bool, quiet: bool) -> None:
    print_errors(report.errors, len(report.errors))
    if not quiet:
        counts = (
            f"{counted(report.files, 'file')}, {counted(report.lines, 'line')}, "
            f"{counted(len(report.errors), 'error')}"
        )
        click.echo(counts, err=err)


@click.command("cdx-load")
@click.argument("files", nargs=-1)
@option.INTO_COLLECTION
@bulk_option
@option.flag(
    "--strict", "Load nothing from a file with a bad line; exit with code 1 after any error."
)
@option.count("--at-once", "N", "Store N captures at a time.  [default: all of a file]")
@option.flag("--json", "Print the counts as JSON.", into="as_json")
@click.pass_obj
def cdx_load_command(
    settings: Settings,
    files: tuple[str, ...],
    collection: str,
    bulk: bool,
    strict: bool,
    at_once: int | None,
    as_json: bool,
) -> int:
    """Load captures from CDX and CDXJ files, without text.

    FILES may be compressed; - is standard input. The captures are available to
    the CDX server, but not to searches. Captures that the archive already holds
    are not changed.

    In a folder archive, all captures of a file become visible at once, and none if the load
    is interrupted. With --at-once captures become visible N at a time, and after an
    interruption the same command loads the rest.

    The exit code is 1 if nothing could be loaded, or with --strict after any
    error.
    """
    if not files:
        raise UsageError("there is nothing to load; name CDX files")
    if strict and at_once:
        raise UsageError("--strict loads all of a file or nothing; leave --at-once out")
    with opened_archive(settings) as archive, archive.bulk_loading(wanted=bulk):
        report = archive.load_cdx(files, collection, strict=strict, at_once=at_once or 0)
    for error in report.errors:
        warn(f"{error.file} line {error.line}: {error}")
    for failure in report.failed:
        warn(str(failure))
    _print_loaded(report, as_json=as_json)
    return 0 if report.useful and not (strict and report.failed) else 1


def _print_loaded(total: "Loaded", *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "captures": total.lines,
                "new": total.changed,
                "not_captures": total.not_captures,
                "bad_lines": total.bad_lines,
                "purged": total.purged,
            }
        )
        return
    others = f"{total.not_captures:,} of records that are not captures, "
    purged = f"{total.purged:,} purged and left out, "
    click.echo(
        f"{counted(total.lines, 'capture')}, {total.changed:,} of them new,"
        f" {others if total.not_captures else ''}{purged if total.purged else ''}"
        f"{counted(total.bad_lines, 'bad line')}"
    )
