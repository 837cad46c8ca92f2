"""nwx import, and its option for documents extracted on Spark"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nwx.cli import option
from nwx.cli.crawl.steering_reports import (
    AnalysisChoices,
    listening,
    print_steering_errors,
    steer_options,
    steering_progress,
    steering_summary,
    taken_choices,
)
from nwx.cli.deduplicate.dates import exclusions_summary, loaded_exclusions, print_unmet
from nwx.cli.options import (
    bulk_option,
    external_option,
    extractor_option,
    item_seconds_option,
    parser_option,
    verify_option,
)
from nwx.cli.output import (
    clean,
    counted,
    error_line,
    opened_archive,
    print_json,
    progress_bar,
    size_words,
    stop_signals,
    warn,
)
from nwx.errors import EngineError, UsageError
from nwx.model import STANDARD_INPUT, ReadError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.archive import Archive
    from nwx.dedup.exclusion_lists import ExclusionList
    from nwx.importing import ExclusionReport, ImportOptions, ImportReport
    from nwx.model import ReadError
    from nwx.steering.options import SteeringReport
    from nwx.warc.sources import ArchiveSource


_OF_EXTRACTION = (
    "verify",
    "digests",
    "enrich",
    "parser",
    "item_seconds",
    "external",
    "extractors",
    "name",
)
"""Options for reading archive files, which do not apply to extracted documents."""

documents_option = option.repeated(
    "--documents",
    "FOLDER",
    "Import the output of `nwx spark extract` in FOLDER instead of archive files.",
)


def extracted(
    context: click.Context, documents: Sequence[str], files: Sequence[str], options: "ImportOptions"
) -> "tuple[list[ArchiveSource | ReadError], ImportOptions]":
    """Return the archive files of extracted documents, and the options to import them with.

    Raises UsageError if other arguments do not apply to them, and SourceError if they cannot be
    read.
    """
    from nwx.importing.extracted.documents_file import check_extracted, extracted_sources

    if files:
        raise UsageError("archive files and --documents cannot be combined; use two commands")
    given = [name for name in _OF_EXTRACTION if _is_given(context, name)]
    if given:
        option = given[0].replace("_", "-").replace("extractors", "extractor")
        raise UsageError(
            f"--{option} applies to archive files only; documents are imported as `nwx spark"
            " extract` wrote them"
        )
    found = extracted_sources(documents)
    if not _is_given(context, "collection"):
        options = replace(options, collection=found.collection)
    check_extracted(found, options)
    return list(found.sources), options


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


_ERRORS_SHOWN = 10


@click.command("import")
@click.argument("files", nargs=-1)
@option.repeated(
    "-e --exclude",
    "LIST",
    "Skip the captures listed in LIST (as dedup-cdx writes it), but keep their dates.",
    into="lists",
)
@option.file_path("--unmet", "Write the list entries that matched no capture to FILE.")
@click.option(
    "--no-dedup",
    "deduplicate",
    flag_value=False,
    default=True,
    help="Create a document for each capture, even if its URL and digest are known.",
)
@option.repeated("--manifest", "FILE", "Import the files listed in FILE.", into="manifests")
@option.INTO_COLLECTION
@option.FILE_JOBS
@documents_option
@option.string("--name", "NAME", "File name to record for standard input (-).", default=None)
@verify_option
@option.choice_of(
    "--digests",
    ("sha256", "none"),
    "Store a SHA-256 of each payload next to its SHA-1 (and the reverse), now and in later"
    " imports.",
)
@option.repeated(
    "--enrich",
    "NAME[,NAME…]",
    "Extract extra fields, now and in later imports: all, none, or format, server, dates … (nwx"
    " enrich).",
)
@parser_option
@item_seconds_option
@option.seconds(
    "--lease",
    "Time without a sign of life after which other imports take over files.",
    into="lease_seconds",
    default=60.0,
    least=1,
)
@external_option
@extractor_option
@steer_options
@bulk_option
@option.flag("--build", "Update facets, links and pictures afterwards.", into="builds")
@option.flag("--strict", "Exit with code 1 after any error.")
@option.JSON_REPORT
@click.pass_obj
def command(
    settings: Settings,
    /,
    files: tuple[str, ...],
    lists: tuple[str, ...],
    unmet: Path | None,
    manifests: tuple[str, ...],
    documents: tuple[str, ...],
    name: str | None,
    jobs: int | None,
    steer: str | None,
    bulk: bool,
    builds: bool,
    strict: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Import WARC, ARC and WACZ files.

    FILES are files, folders (all archive files below them), globs, http(s) or s3 addresses,
    @manifests (one name per line), or - for standard input. A file that the archive already
    holds is skipped; an interrupted import of a file is resumed where it stopped.

    Imports into the same server can run at the same time, on any machines, and share the
    files that they have in common: each file is read by one import, or by another if that
    one dies. Each import ends when all its files are done. An import with --no-dedup must
    run alone: it is refused while another runs, and others are refused until it has ended.

    A capture with a known URL and digest adds only a date. LIST names captures to skip, one
    `date digest url` or `url digest date` per line.

    The exit code is 1 if nothing was imported, or with --strict after any
    error; 130 after Ctrl-C, 143 after SIGTERM.
    """
    from nwx.importing import ImportOptions, warm_up

    choices = taken_choices(options)
    _check_use((*files, *manifests, *documents), (*files, *lists), name, lists, unmet)
    wanted = ImportOptions(jobs=jobs or 0, **options)
    warm_up(settings)  # readers load their modules while this process does
    from nwx.warc.sources import expand

    if documents:
        context = click.get_current_context()
        sources, wanted = extracted(context, documents, (*files, *manifests), wanted)
    else:
        sources = list(expand(files, manifests, stdin_name=name or ""))
    with _excluded(lists, strict=strict, quiet=quiet) as excluded:
        with (
            opened_archive(settings) as archive,
            stop_signals() as received,
            archive.bulk_loading(wanted=bulk),
        ):
            report, told, steered = _import(
                archive, sources, wanted, received, excluded, steer, choices, quiet=quiet
            )
            is_done = report.useful and not received
            stale = archive.stale(known=not builds) if is_done else ()
        if as_json:
            _print_json(report, told, steered, stale)
        else:
            _print_report(report, told, quiet=quiet)
        _print_steering(steered, quiet=quiet or as_json)
        _bring_up_to_date(settings, stale, builds=builds, quiet=quiet or as_json)
        if excluded and told and not report.interrupted:
            print_unmet(excluded, told, unmet, quiet=quiet)
    if steered and steered.interrupted and received:
        return 128 + received[0]
    return _exit_code(report, received, strict=strict)


def _excluded(
    lists: tuple[str, ...], *, strict: bool, quiet: bool
) -> "AbstractContextManager[ExclusionList | None]":
    return loaded_exclusions(lists, strict=strict, quiet=quiet) if lists else nullcontext()


def _print_json(
    report: "ImportReport",
    told: "ExclusionReport | None",
    steered: "SteeringReport | None",
    stale: tuple[str, ...],
) -> None:
    from nwx.importing import import_report_json

    more = {"exclusion": told.as_json if told else None}
    if steered:
        from nwx.steering.options import steering_report_json

        more["steering"] = steering_report_json(steered)
    print_json(import_report_json(report) | more | {"stale": stale})


def _check_use(
    sources: Sequence[str],
    inputs: Sequence[str],
    name: str | None,
    lists: Sequence[str],
    unmet: Path | None,
) -> None:
    if not sources:
        raise UsageError("there is nothing to import; name files or folders, or --manifest FILE")
    if STANDARD_INPUT in sources and not name:
        raise UsageError("standard input needs a file name; add --name NAME.warc.gz")
    if name and STANDARD_INPUT not in sources:
        raise UsageError("--name applies to standard input; add - to the files")
    if inputs.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    if unmet and not lists:
        raise UsageError("--unmet applies to the entries of an exclusion list; add -e LIST")


def _import(
    archive: "Archive",
    sources: "Sequence[ArchiveSource | ReadError]",
    options: "ImportOptions",
    received: list[int],
    excluded: "ExclusionList | None",
    steer: str | None,
    choices: AnalysisChoices,
    *,
    quiet: bool,
) -> "tuple[ImportReport, ExclusionReport | None, SteeringReport | None]":
    from nwx.importing import report_of_errors

    missing = [source for source in sources if type(source) is ReadError]
    if len(missing) == len(sources):  # in this case, no archive is created
        return report_of_errors(missing), None, None

    def stopping() -> bool:
        return bool(received)

    with progress_bar(quiet=quiet) as progress:
        if steer:
            archive.create()
        try:
            with listening(archive.settings, steer, choices) as listener:
                heard = listener.on_documents if listener else None
                report, told = archive.import_sources(
                    sources,
                    options,
                    progress=progress,
                    stopping=stopping,
                    excluded=excluded,
                    heard=heard,
                )
                if listener is None:
                    return report, told, None

                def show(so_far: "SteeringReport") -> None:
                    progress(steering_progress(so_far))

                return report, told, listener.finish(show, stopping)
        except EngineError as error:
            raise EngineError(
                f"{error}; what was imported so far is kept, run the same command again to resume"
            ) from error


def _bring_up_to_date(
    settings: Settings, stale: tuple[str, ...], *, builds: bool, quiet: bool
) -> None:
    """Build the indices that an import left outdated, or print their names."""
    if not stale:
        return
    if builds:
        from nwx.cli.measure.build import build

        with opened_archive(settings) as archive:
            build(archive, stale, {}, quiet=quiet)
    elif not quiet:
        warn(f"not up to date with this import: {', '.join(stale)}; run nwx build")


def _print_steering(report: "SteeringReport | None", *, quiet: bool) -> None:
    if report:
        print_steering_errors(report)
        if not quiet:
            click.echo(steering_summary(report))


def _exit_code(report: "ImportReport", received: list[int], *, strict: bool) -> int:
    if report.interrupted and received:
        return 128 + received[0]
    return 0 if report.useful and not (strict and report.errors_total) else 1


def _print_report(report: "ImportReport", told: "ExclusionReport | None", *, quiet: bool) -> None:
    for error in report.errors[:_ERRORS_SHOWN]:
        warn(error_line(error))
    more = report.errors_total - _ERRORS_SHOWN
    if more > 0:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in report.errors_by_kind.items())
        warn(f"… and {counted(more, 'more error')} ({clean(kinds)}); --json lists them")
    if not quiet:
        click.echo(_summary(report))
        if told:
            click.echo(exclusions_summary(told))
    if report.interrupted:
        warn("stopped; run the same command again to resume")


def _summary(report: "ImportReport") -> str:
    outcomes = ", ".join(f"{count:,} {name}" for name, count in sorted(report.outcomes.items()))
    files = f"{report.files:,} {'file' if report.files == 1 else 'files'}"
    return (
        f"{files} ({outcomes or 'none started'}), {size_words(report.bytes)}"
        f" in {report.seconds:.1f} s\n"
        f"{counted(report.captures, 'capture')}, {counted(report.documents, 'new document')},"
        f" {counted(report.duplicates, 'duplicate')},"
        + (f" {counted(report.renders, 'render')}," if report.renders else "")
        + (f" {report.excluded:,} left out," if report.excluded else "")
        + (f" {report.purged:,} purged," if report.purged else "")
        + f" {counted(report.errors_total, 'error')}"
    )
