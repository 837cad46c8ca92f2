"""add-dates, also nwx add-dates"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import FIELDS_OPTION, TMP, print_problems, sources_of
from nwx.cli.output import counted, print_json, progress_bar
from nwx.cli.restricted import opened_archive
from nwx.errors import UsageError
from nwx.model import MAIN_DATES
from nwx.settings import Settings, load_settings

if TYPE_CHECKING:
    from nwx.dedup.added_dates import DatesLists, DatesReport


_LEAST_OF_ORIGINAL = 3


@click.command("add-dates", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("lists", nargs=-1)
@option.INTO_COLLECTION
@option.string(
    "--into",
    "NAME",
    "Dates index to add to; it is created and attached if it does not exist.",
    default=MAIN_DATES,
    show_default=True,
)
@option.string(
    "--build", "NAME", "Build this dates index and replace the existing one.", default=None
)
@option.repeated(
    "--from", "INDEX", "With --build: include the dates of this index.", into="sources"
)
@option.flag(
    "--documents-only", "With --build: leave out dates of keys without a document in the archive."
)
@FIELDS_OPTION
@TMP
@option.flag("--strict", "Add nothing if any line cannot be read.")
@option.JSON_REPORT
@click.pass_obj
def command(
    settings: Settings | None,
    /,
    lists: tuple[str, ...],
    into: str,
    build: str | None,
    sources: tuple[str, ...],
    documents_only: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Add the dates in exclusion lists to an archive.

    LISTS have lines `date digest url` or `url digest date`, as dedup-cdx and
    revisits write them, or are CDX or CDXJ files; plain, gzip or zstd; - is
    standard input. Each line gives a date at which a URL and digest was
    captured. Known dates change nothing. Dates without a document are kept
    until the document is imported (`nwx dates orphans` lists them).

    With --build a dates index is built from the indices of --from and from
    LISTS, and replaces the one of that name. An INDEX is an index of the
    archive by its name (`main` is its own), a folder (with a slash in its
    name), or an index on the archive's server.

    The form of NutchWAX works too: if the first argument is an archive (a
    folder, or the address of a search server), the arguments are
    KEY-INDEX [SOURCE-INDEX]... DEST-INDEX LIST.
    """
    from nwx.dedup.sorted_input import is_archive

    settings = settings or load_settings({})
    if lists and is_archive(lists[0]):
        _check_original(lists, build, sources, into)
        settings = replace(settings, engine=lists[0])
        sources = tuple(_main_of(place, lists[0]) for place in lists[1:-2])
        build, lists = lists[-2], lists[-1:]
    _check(build, sources, into, documents_only=documents_only)
    wanted = _lists(lists, **options)
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        report = archive.add_dates(
            wanted,
            into,
            build=build or "",
            sources=sources,
            documents_only=documents_only,
            progress=progress,
        )
    _print(report, as_json=as_json, quiet=quiet, built=build or "")
    return 1 if report.lists.problems_total and not report.lists.lines else 0


def _lists(
    lists: tuple[str, ...], collection: str, fields: str | None, tmp: Path | None, strict: bool
) -> "DatesLists":
    from nwx.dedup.added_dates import DatesLists

    if tmp is not None and not tmp.is_dir():
        raise UsageError(f"--tmp {tmp} is no folder")
    held = [replace(source, held=True) for source in sources_of(lists, fields)]
    return DatesLists(held, collection, tmp, strict)


def _check_original(
    arguments: tuple[str, ...], build: str | None, sources: tuple[str, ...], into: str
) -> None:
    if len(arguments) < _LEAST_OF_ORIGINAL:
        raise UsageError(
            f"{arguments[0]} is an archive, and then a new index and a list are needed: "
            f"KEY-INDEX [SOURCE-INDEX]... DEST-INDEX LIST; to add to it, say --engine before"
            f" the command, or NWX_ENGINE"
        )
    if build or sources or into != MAIN_DATES:
        raise UsageError(
            f"{arguments[0]} is an archive: the arguments name the indices, "
            f"--build, --from and --into cannot"
        )


def _check(build: str | None, sources: tuple[str, ...], into: str, *, documents_only: bool) -> None:
    if build and into != MAIN_DATES:
        raise UsageError("--build makes an index, --into adds to one; choose")
    if not build and (sources or documents_only):
        raise UsageError("--from and --documents-only say how to --build an index; name it")


def _main_of(place: str, archive: str) -> str:
    """Return `main` where a place is the archive itself."""
    same = place == archive or (Path(place).is_dir() and Path(place).samefile(archive))
    return MAIN_DATES if same else place


def _print(report: "DatesReport", *, as_json: bool, quiet: bool, built: str) -> None:
    print_problems(report.lists.problems, report.lists.problems_total)
    if as_json:
        from nwx.dedup.added_dates import dates_report_json

        print_json(dates_report_json(report))
    elif not quiet:
        click.echo(_words(report, built))


def _words(report: "DatesReport", built: str) -> str:
    lists = report.lists
    counts = [counted(lists.lines, "line"), counted(report.keys, "key")]
    if built:
        counts.append(f"{counted(report.new, 'date')} in {built}")
    else:
        counts += [f"{counted(report.new, 'date')} new", f"{report.known:,} known"]
    for count, noun, words in (
        (report.orphans, "key", "without a document"),
        (report.left_out, "key", "left out"),
        (report.purged, "date", "purged and left out"),
        (lists.not_captures, "line", "of records that are no captures"),
        (lists.without_digest, "line", "without a digest"),
        (lists.problems_total, "line", "that cannot be read"),
    ):
        if count:
            counts.append(f"{counted(count, noun)} {words}")
    return ", ".join(counts)
