"""nwx cdx and nwx cdx-load"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import list_output
from nwx.cli.options import bulk_loading, bulk_option, index_options, index_options_of
from nwx.cli.output import counted, print_json, warn
from nwx.cli.progress import progress_bar
from nwx.errors import CdxError, UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.archive_cdx import IndexReport
    from nwx.cdxserver.loaded_lines import Loaded
    from nwx.engine.base import Engine


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
@option.flag("--beside", "Write FILE.cdx (or .cdxj) next to each FILE.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write one index to FILE, which appears when complete.  [default: standard output]",
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
def cdx_command(**given: Any) -> int:
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
        warn(f"{error.file}{place}: {error.message} ({error.kind})")
    if len(report.errors) > _ERRORS_SHOWN:
        warn(f"… and {counted(len(report.errors) - _ERRORS_SHOWN, 'more error')}")
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
@option.flag("--strict", "Load nothing from a file that has a bad line.")
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

    Into a folder, all captures of a file become visible in one moment, and none
    if the load is interrupted; until then they lie in a log of about the size that
    they take. --at-once keeps it small: captures become visible N at a time, and
    after an interruption the same command loads the rest.

    The exit code is 1 if nothing could be read.
    """
    if not files:
        raise UsageError("there is nothing to load; name CDX files")
    if strict and at_once:
        raise UsageError("--strict loads all of a file or nothing; leave --at-once out")
    # Imported here: whoever asks for help need not wait for it.
    from nwx.cdxserver.loaded_lines import Loaded
    from nwx.engine.open import open_engine

    total = Loaded()
    with bulk_loading(settings, wanted=bulk), open_engine(settings) as engine:
        for name in files:
            done = _load(engine, name, collection, strict=strict, at_once=at_once or 0)
            for error in done.errors:
                warn(f"{error.file} line {error.line}: {error}")
            total.lines += done.lines
            total.changed += done.changed
            total.not_captures += done.not_captures
            total.bad_lines += done.bad_lines
            total.purged += done.purged
    _print_loaded(total, as_json=as_json)
    return 0 if total.lines or total.purged or not total.bad_lines else 1


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
    others = f"{total.not_captures:,} of records that are no captures, "
    purged = f"{total.purged:,} purged and left out, "
    click.echo(
        f"{counted(total.lines, 'capture')}, {total.changed:,} of them new,"
        f" {others if total.not_captures else ''}{purged if total.purged else ''}"
        f"{counted(total.bad_lines, 'bad line')}"
    )


def _load(engine: "Engine", name: str, collection: str, *, strict: bool, at_once: int) -> "Loaded":
    from nwx.cdx.files import open_cdx, whole_line_blocks
    from nwx.cdxserver.loaded_lines import load_lines

    try:
        with open_cdx(name) as stream:
            blocks = whole_line_blocks(stream)
            return load_lines(
                engine, blocks, collection, skip_bad=not strict, name=name, at_once=at_once
            )
    except CdxError as error:
        raise CdxError(
            f"{name} line {error.line}: {error}; nothing of this file was loaded", name, error.line
        ) from error
