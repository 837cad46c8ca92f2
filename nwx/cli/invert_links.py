"""nwx invert-links"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nwx.cli.output import counted, print_json, size_words
from nwx.cli.progress import progress_bar
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.links.build import InlinkBuildReport


@click.command("invert-links")
@click.option("--anew", is_flag=True, help="Read all documents again, not only those that changed.")
@click.option(
    "--from",
    "from_folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Load what `nwx spark links` inverted, and read only documents that it lacks.",
)
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Number of processes (default: CPUs)."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show only errors.")
@click.pass_obj
def command(
    settings: Settings,
    anew: bool,
    from_folder: Path | None,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build the index of inlinks: who links to a URL, and with which words.

    Counts the links of all documents by linked URL, year and collection. Only
    documents that are new, or were captured again since the last run, are
    read. Questions are answered from the previous index until this one is
    complete. If interrupted, run the same command again to resume. With --from,
    links are loaded of all documents that the archive made from the same
    captures; the index is the same as without.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.open import open_engine
    from nwx.links.build import InlinkBuildOptions, invert_links
    from nwx.links.inverted import InvertedLinks

    inverted = None if from_folder is None else InvertedLinks(from_folder)
    options = InlinkBuildOptions(workers=workers, anew=anew, inverted=inverted)
    reopen = partial(open_engine, settings, read_only=True)
    with open_engine(settings, read_only=True) as engine, progress_bar(quiet=quiet) as show:
        report = invert_links(engine, reopen, options, show)
    if as_json:
        print_json(_report_json(report))
    elif not quiet:
        refused = f", {counted(report.refused, 'link')} without urlkey" if report.refused else ""
        loaded = f"{report.loaded:,} loaded, " if from_folder is not None else ""
        click.echo(
            f"{counted(report.links, 'link')} of {counted(report.documents, 'document')}"
            f" ({loaded}{report.read:,} read) to {counted(report.targets, 'URL')}{refused},"
            f" {size_words(report.bytes)} in {report.seconds:.1f} s"
        )


def _report_json(report: "InlinkBuildReport") -> dict[str, float]:
    return {
        "documents": report.documents,
        "read": report.read,
        "loaded": report.loaded,
        "links": report.links,
        "refused": report.refused,
        "targets": report.targets,
        "bytes": report.bytes,
        "seconds": round(report.seconds, 3),
    }
