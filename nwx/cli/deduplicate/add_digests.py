"""nwx add-digests"""

from dataclasses import asdict

import click

from nwx.cli import option
from nwx.cli.output import counted, error_line, print_json, warn
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings


@click.command("add-digests")
@option.FILE_JOBS
@option.JSON_REPORT
@click.pass_obj
def command(settings: Settings, jobs: int | None, as_json: bool, quiet: bool) -> int:
    """Keep a SHA-256 of each payload beside its SHA-1, so that either finds it.

    Reads the imported files once, and keeps a SHA-1 of payloads with a SHA-256.
    A stopped run is resumed where it stopped; later imports keep both digests
    (`nwx import --digests none` ends that). A payload whose own digest is not
    that of its bytes gets none. The exit code is 1 if a file cannot be read.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet or as_json) as progress:
        report = archive.add_digests(jobs, progress)
    for error in report.errors:
        warn(error_line(error))
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        click.echo(
            f"{counted(report.files, 'file')} ({report.files_done:,} done before), "
            f"{counted(report.payloads, 'payload')}, {counted(report.digests, 'new digest')}, "
            f"{counted(report.unverified, 'payload')} without, "
            f"{counted(report.errors_total, 'error')}"
        )
    return 1 if report.errors_total else 0
