"""nwx dedup-warc"""

from collections.abc import Sequence
from pathlib import Path

import click

from nwx.cli.list_commands import print_problems, step_bar
from nwx.cli.output import clean, print_json, size_words
from nwx.dedup.exclusion_lists import ExclusionList
from nwx.dedup.warc_rewrite import Rewritten, rewrite
from nwx.errors import UsageError
from nwx.model import ReadError
from nwx.warc.sources import ArchiveSource, expand

_LEFT_SHOWN = 20


@click.command("dedup-warc")
@click.argument("files", nargs=-1)
@click.option(
    "-e",
    "--exclude",
    "lists",
    multiple=True,
    required=True,
    metavar="LIST",
    help="A list of duplicates, as dedup-cdx and revisits write it.",
)
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where the new files go, under their old names.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show neither progress nor report, only errors.")
def command(
    files: tuple[str, ...], lists: tuple[str, ...], folder: Path, as_json: bool, quiet: bool
) -> int:
    """Write WARC files anew, with revisit records in the place of duplicates.

    FILES are WARC files here, gzip by record or plain. The new files are the
    old ones byte for byte, but for each capture on a list whose payload was
    read and found to be that of an earlier capture in FILES: it becomes a
    WARC 1.1 revisit record with its HTTP head. Before a new file appears, it
    is read again and each of its records compared with the old one's payload.
    The old files stay as they are.
    """
    sources = _sources(files)
    with (
        step_bar(quiet=quiet) as progress,
        ExclusionList.load(lists, progress=progress) as excluded,
    ):
        done = list(rewrite(sources, excluded.covers, folder, progress))
        never_met = excluded.entries - excluded.met
        problems, unread = excluded.problems, excluded.problems_total
    print_problems(problems, unread)
    if as_json:
        print_json(_report(done, never_met) | {"problems_total": unread})
    else:
        _print_report(done, never_met, quiet=quiet)
    return 0


def _sources(files: Sequence[str]) -> list[ArchiveSource]:
    if not files:
        raise UsageError("there is nothing to write anew; name WARC files or folders")
    sources = []
    for found in expand(files):
        if isinstance(found, ReadError):
            raise UsageError(found.message)
        sources.append(found)
    return sources


def _report(done: Sequence[Rewritten], never_met: int) -> dict[str, object]:
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


def _print_report(done: Sequence[Rewritten], never_met: int, *, quiet: bool) -> None:
    left = [error for one in done for error in one.left]
    for error in left[:_LEFT_SHOWN]:
        click.echo(
            f"nwx: {clean(error.file)} at {error.offset}: left as it is: {clean(error.message)}",
            err=True,
        )
    if len(left) > _LEFT_SHOWN:
        click.echo(f"nwx: and {len(left) - _LEFT_SHOWN} more left as they are", err=True)
    if quiet:
        return
    before, after = (sum(one.bytes_before for one in done), sum(one.bytes_after for one in done))
    change = "saved" if before >= after else "more"
    already = sum(one.before for one in done)
    click.echo(
        f"{len(done)} files, {sum(one.revisits for one in done)} duplicates became revisits,"
        + (f" {already} were revisits before," if already else "")
        + f" {len(left)} were left as they are; {never_met} lines of the lists were met nowhere\n"
        f"{size_words(before)} became {size_words(after)}:"
        f" {size_words(abs(before - after))} {change}"
    )
