"""nwx dates, add-dates, also the program add-dates, and the exclusion lists of nwx import"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import (
    FIELDS_OPTION,
    TMP,
    place_and_message,
    print_problems,
    sources_of,
)
from nwx.cli.output import (
    clean,
    counted,
    opened_archive,
    print_above,
    print_json,
    progress_bar,
    size_words,
    warn,
)
from nwx.errors import CdxError, UsageError
from nwx.model import MAIN_DATES, NamedDates
from nwx.settings import Settings, load_settings

if TYPE_CHECKING:
    from nwx.dedup.added_dates import DatesLists, DatesReport
    from nwx.dedup.exclusion_lists import ExclusionList
    from nwx.importing import ExclusionReport

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
def add_dates_command(
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

    LISTS have lines `date digest url` or `url digest date`, as dedup-cdx and revisits write
    them, or are CDX or CDXJ files; plain, gzip or zstd; - is standard input. Each line
    gives a date at which a URL and digest was captured. Known dates are ignored. Dates
    without a document are kept until the document is imported (`nwx dates orphans` lists
    them).

    With --build a dates index is built from the indices of --from and from
    LISTS, and replaces the one of that name. An INDEX is an index of the
    archive by its name (`main` is its own), a folder (with a slash in its
    name), or an index on the archive's server.

    The syntax of NutchWAX also works: if the first argument is an archive (a folder, or the
    address of a search server), the arguments are KEY-INDEX [SOURCE-INDEX]... DEST-INDEX
    LIST.
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
        raise UsageError(f"--tmp {tmp} is not a folder")
    held = [replace(source, held=True) for source in sources_of(lists, fields)]
    return DatesLists(held, collection, tmp, strict)


def _check_original(
    arguments: tuple[str, ...], build: str | None, sources: tuple[str, ...], into: str
) -> None:
    if len(arguments) < _LEAST_OF_ORIGINAL:
        raise UsageError(
            f"{arguments[0]} is an archive, so a new index and a list are needed: KEY-INDEX"
            " [SOURCE-INDEX]... DEST-INDEX LIST; to add to it, use --engine before the command, or"
            " NWX_ENGINE"
        )
    if build or sources or into != MAIN_DATES:
        raise UsageError(
            f"{arguments[0]} is an archive, so the arguments name the indices; leave out --build,"
            " --from and --into"
        )


def _check(build: str | None, sources: tuple[str, ...], into: str, *, documents_only: bool) -> None:
    if build and into != MAIN_DATES:
        raise UsageError("--build creates an index, --into adds to one; use one of them")
    if not build and (sources or documents_only):
        raise UsageError("--from and --documents-only need --build NAME")


def _main_of(place: str, archive: str) -> str:
    """Return `main` if a place is the archive itself, otherwise the place."""
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
        (lists.not_captures, "line", "of records that are not captures"),
        (lists.without_digest, "line", "without a digest"),
        (lists.problems_total, "line", "that cannot be read"),
    ):
        if count:
            counts.append(f"{counted(count, noun)} {words}")
    return ", ".join(counts)


@click.group("dates")
def dates_command() -> None:
    """List, attach and detach dates indices.

    An archive has its own dates index, `main`, and other dates indices can be attached to
    it: every search, filter, count and page then uses their dates too. Documents are not
    rewritten.
    """


@dates_command.command("list")
@option.JSON
@click.pass_obj
def list_indices(settings: Settings, as_json: bool) -> int:
    """List the dates indices of the archive, attached or not.

    The exit code is 1 if an attached index cannot be read.
    """
    with opened_archive(settings) as archive:
        indices = archive.dates_indices()
    if as_json:
        print_json([asdict(one) for one in indices])
    else:
        _print_indices(indices)
    return 1 if any(one.attached and one.problem for one in indices) else 0


def _print_indices(indices: list[NamedDates]) -> None:
    from nwx.cli.terminal import console, plain_table

    numbers = ("keys", "dates", "size")
    table = plain_table("index", *numbers, "", "place", right=numbers, fold=("place",))
    for one in indices:
        counts = ["" if count is None else f"{count:,}" for count in (one.entries, one.dates)]
        state = "attached" if one.attached else "not attached"
        table.add_row(one.name, *counts, size_words(one.bytes), state, clean(one.address))
    console().print(table)
    for one in indices:
        if one.problem:
            warn(f"{one.name}: {one.problem}")


@dates_command.command()
@click.argument("name")
@click.argument("place", default="")
@click.pass_obj
def attach(settings: Settings, name: str, place: str) -> None:
    """Attach a dates index under NAME.

    PLACE is a folder (a dates index, or an archive, whose own dates are used), or an index
    on the archive's server. Without PLACE, it is the archive's existing index of that name.
    """
    with opened_archive(settings) as archive:
        archive.attach_dates(name, place)


@dates_command.command()
@click.argument("name")
@click.pass_obj
def detach(settings: Settings, name: str) -> None:
    """Detach a dates index and keep its contents."""
    with opened_archive(settings) as archive:
        archive.detach_dates(name)


@dates_command.command()
@click.argument("name")
@click.pass_obj
def drop(settings: Settings, name: str) -> None:
    """Detach a dates index created by the archive, and delete it."""
    with opened_archive(settings) as archive:
        archive.detach_dates(name, drop=True)


@dates_command.command("orphans")
@option.flag("--json", "Print JSON lines.", into="as_json")
@option.flag("--quiet", "Show no progress, only errors.")
@click.pass_obj
def list_orphans(settings: Settings, as_json: bool, quiet: bool) -> None:
    """List the dates, in all indices, of keys without a document.

    Lines have the form `date digest url`, which add-dates reads.
    """
    from nwx.cdx.rows import safe_field

    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        for one in archive.orphan_dates(progress):
            url, digest = one.key.split(" ")[:2]
            for timestamp, collection in one.seen:
                found = {"url": url, "digest": digest, "timestamp": timestamp}
                if as_json:
                    print_json(found | {"collection": collection})
                else:
                    print_above(clean(f"{timestamp} {safe_field(digest)} {url}"))


_SHOWN = 10


@contextmanager
def loaded_exclusions(
    lists: tuple[str, ...], *, strict: bool, quiet: bool
) -> "Iterator[ExclusionList]":
    """Load exclusion lists of an import, and print their unreadable lines.

    Raises CdxError for the first unreadable line if `strict`.
    """
    from nwx.dedup.exclusion_lists import ExclusionList

    with progress_bar(quiet=quiet) as progress:
        excluded = ExclusionList.load(lists, progress=progress)
    with excluded:
        problems = [place_and_message(problem) for problem in excluded.problems[:_SHOWN]]
        if problems and strict:
            raise CdxError(f"{problems[0]}; nothing is imported because of --strict")
        for problem in problems:
            warn(problem)
        more = excluded.problems_total - len(problems)
        if more:
            warn(f"… and {counted(more, 'more line')} that cannot be read")
        yield excluded


def print_unmet(
    excluded: "ExclusionList", report: "ExclusionReport", file: Path | None, *, quiet: bool
) -> None:
    """Print the first entries that were never met, and write all to `file` if given."""
    if file:
        _write(excluded, file)
    if quiet or not report.unmet:
        return
    for line in islice(_unmet_lines(excluded), _SHOWN):
        warn(f"matched no capture: {clean(line)}")
    more = report.unmet - _SHOWN
    if more > 0:
        where = f"{file} lists them" if file else "--unmet FILE lists them"
        warn(f"… and {counted(more, 'more entry')} that matched no capture; {where}")


def _write(excluded: "ExclusionList", file: Path) -> None:
    from nwx.bulk.whole_files import whole_file

    with whole_file(file) as stream:
        for line in _unmet_lines(excluded):
            stream.write(line.encode("utf-8", "surrogateescape") + b"\n")


def _unmet_lines(excluded: "ExclusionList") -> Iterator[str]:
    from nwx.cdx.layouts import DATE_FIRST
    from nwx.cdx.rows import format_cdx

    return (format_cdx(line, DATE_FIRST) for line in excluded.unmet())


def exclusions_summary(report: "ExclusionReport") -> str:
    """Return the report on the exclusion lists of an import as text."""
    before = f" ({report.met_before:,} by an earlier import)" if report.met_before else ""
    unread = report.problems_total
    return (
        f"{counted(report.entries, 'entry')} on the exclusion list, {report.met:,}"
        f" matched{before}, {report.unmet:,} not matched"
        + (f"; {counted(unread, 'line')} that cannot be read" if unread else "")
    )
