"""nwx build-pictures"""

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

import click

from nwx.cli import option
from nwx.cli.output import counted, print_json, warn
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import is_unrestricted, opened_archive
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.pictures.build import PictureBuildReport

_PROBLEMS_SHOWN = 20


@click.command("build-pictures")
@option.flag("--anew", "Build all again, not only what was stored since.")
@option.count("--workers", "N", "Number of processes (default: CPUs).")
@option.JSON_REPORT
@click.pass_obj
def command(
    settings: Settings, anew: bool, workers: int | None, as_json: bool, quiet: bool
) -> None:
    """Build the index of pictures: images, and what pages say of them.

    Images are measured: their size, main colours, and a perceptual hash by
    which similar ones are found. Pages are read again for their words about
    images: alternative texts, titles, links and the text around. Only captures
    stored since the last run are read; if interrupted, run the same command
    again to resume.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as show:
        built = archive.build("pictures", anew=anew, workers=workers, progress=show)
    report = cast("PictureBuildReport", built["pictures"])
    shown = report.problems if is_unrestricted() else ()
    if as_json:
        print_json(asdict(report) | {"problems": shown, "seconds": round(report.seconds, 3)})
        return
    for problem in shown[:_PROBLEMS_SHOWN]:
        warn(problem)
    if not quiet:
        unreadable = f", {report.unreadable:,} unreadable" if report.unreadable else ""
        click.echo(
            f"{counted(report.captures, 'capture')}: {counted(report.pictures, 'new picture')},"
            f" {counted(report.appearances, 'appearance')} on {counted(report.pages, 'page')}"
            f"{unreadable}, in {report.seconds:.1f} s"
        )
