"""nwx build, build-facets, invert-links and build-pictures"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from nwx.cli import option
from nwx.cli.options import EMBEDDER, with_embedder
from nwx.cli.output import (
    counted,
    is_unrestricted,
    opened_archive,
    print_json,
    progress_bar,
    size_words,
    warn,
)
from nwx.errors import SettingsError, UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx import Archive
    from nwx.facets.build import FacetBuildReport
    from nwx.facets.sites import Sites
    from nwx.links.build import InlinkBuildReport
    from nwx.pictures.build import PictureBuildReport

_PROBLEMS_SHOWN = 20
_NAMES = ("facets", "links", "pictures", "triples", "vectors", "all")

_ANEW = option.flag("--anew", "Rebuild everything, not only what changed.")
_WORKERS = option.count("--workers", "N", "Number of processes (default: CPUs).")


@click.command("build")
@click.argument("names", nargs=-1, type=option.HintedChoice(_NAMES), metavar="[NAME]...")
@_ANEW
@_WORKERS
@EMBEDDER
@option.JSON_REPORT
@click.pass_obj
def build_command(
    settings: Settings,
    names: tuple[str, ...],
    anew: bool,
    workers: int | None,
    embedder: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build or update facets, links, pictures, triples and vectors.

    NAME is facets, links, pictures, triples or vectors; all is the first four. On a search
    server, triples are left out unless NWX_TRIPLES is set. Without NAME, those of facets,
    links and pictures that are missing or out of date are built; vectors if they were
    built before. Queries are answered from the previous build until the new one is
    complete. If interrupted, run the same command again to resume.
    build-facets, invert-links, build-pictures and `triples build` have more options.
    """
    with opened_archive(with_embedder(settings, embedder)) as archive:
        asked = _NAMES[:-2] if "all" in names else tuple(dict.fromkeys(names))
        wanted = asked or archive.stale(anew=anew)
        options = {"anew": anew, "workers": workers}
        built = build(archive, wanted, options, quiet=quiet or as_json, shown=not as_json)
    if as_json:
        print_json(built)
    elif not (built or quiet):
        click.echo("everything is up to date; --anew rebuilds it")


def build(
    archive: "Archive",
    names: tuple[str, ...],
    options: dict[str, Any],
    *,
    quiet: bool,
    shown: bool = True,
) -> dict[str, dict[str, Any]]:
    """Build indices, print their reports if `shown`, and return them as JSON values by name."""
    done = {}
    for name in names:
        with progress_bar(quiet=quiet) as show:
            if name == "triples":
                try:
                    report: Any = archive.build_triples(progress=show)
                except SettingsError as error:
                    if len(names) == 1:
                        raise
                    warn(f"triples are left out: {error}")
                    continue
            else:
                report = archive.build(name, progress=show, **options)[name]
        words, done[name] = _report_forms(name, report)
        if shown and not quiet:
            click.echo(f"{name}: {words}")
        if shown and name == "pictures":
            _warn_of_problems(report)
    return done


def _report_forms(name: str, report: Any) -> tuple[str, dict[str, Any]]:
    """Return a report as text, and as JSON values."""
    if name == "facets":
        return _facets_words(report), _facets_json(report)
    if name == "links":
        return _links_words(report), _links_json(report)
    if name == "pictures":
        return _picture_words(report), _pictures_json(report)
    if name == "vectors":
        words = (
            f"{counted(report.documents, 'new document')}, {counted(report.passages, 'passage')}"
        )
        return f"{words}, in {report.seconds:.1f} s", asdict(report)
    from nwx.cli.crawl import triples

    return triples.triples_words(report), asdict(report)


@click.command("build-pictures")
@_ANEW
@_WORKERS
@option.JSON_REPORT
@click.pass_obj
def build_pictures_command(
    settings: Settings, anew: bool, workers: int | None, as_json: bool, quiet: bool
) -> None:
    """Build the index of pictures: images, and the text of pages about them.

    Of images, the size, the main colours, and a perceptual hash that finds similar ones are
    stored. Pages are read again for text about images: alternative texts, titles, links and
    the surrounding text. Only captures stored since the last run are read; if interrupted,
    run the same command again to resume.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as show:
        built = archive.build("pictures", anew=anew, workers=workers, progress=show)
    report = cast("PictureBuildReport", built["pictures"])
    if as_json:
        print_json(_pictures_json(report))
        return
    _warn_of_problems(report)
    if not quiet:
        click.echo(_picture_words(report))


def _shown_problems(report: "PictureBuildReport") -> tuple[str, ...]:
    return tuple(report.problems) if is_unrestricted() else ()


def _warn_of_problems(report: "PictureBuildReport") -> None:
    for problem in _shown_problems(report)[:_PROBLEMS_SHOWN]:
        warn(problem)


def _pictures_json(report: "PictureBuildReport") -> dict[str, Any]:
    more = {"problems": _shown_problems(report), "seconds": round(report.seconds, 3)}
    return asdict(report) | more


def _picture_words(report: "PictureBuildReport") -> str:
    unreadable = f", {report.unreadable:,} unreadable" if report.unreadable else ""
    return (
        f"{counted(report.captures, 'capture')}: {counted(report.pictures, 'new picture')},"
        f" {counted(report.appearances, 'appearance')} on {counted(report.pages, 'page')}"
        f"{unreadable}, in {report.seconds:.1f} s"
    )


_MIN_CAPTURES = 100
_FAULTS_SHOWN = 20
_MEMORY_MB = 1000

MIN_CAPTURES = option.count(
    "--min-captures",
    None,
    "Store combinations with at least this many captures; 1 stores all.",
    default=_MIN_CAPTURES,
)
SITES = option.value(
    "--sites",
    option.PLACE,
    "FILE",
    "File of URL prefixes and site names, one pair per line.",
    into="sites_file",
)


@click.command("build-facets")
@MIN_CAPTURES
@SITES
@option.value(
    "--source",
    option.PLACE,
    "FOLDER",
    "Read captures from an export (`nwx export captures`) instead of the archive.",
)
@option.value(
    "--from",
    option.PLACE,
    "FOLDER",
    "Load the counts of `nwx spark facets` instead of counting.",
    into="from_folder",
)
@option.whole_number(
    "--memory", "MB", "Memory limit for reading captures, in MB.", default=_MEMORY_MB, least=64
)
@option.flag("--anew", "Rebuild all months, not only those that changed.")
@option.JSON_REPORT
@click.pass_obj
def build_facets_command(
    settings: Settings,
    min_captures: int,
    sites_file: Path | None,
    source: Path | None,
    from_folder: Path | None,
    memory: int,
    anew: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build the columns and combinations that answer facet queries.

    These are a few columns of all captures, and all features of each combination of
    criteria with many captures. Only months that changed since the last build are read.
    Queries are answered from the previous build until this one is complete. If interrupted,
    run the same command again to resume. Without --sites, the site list of the previous
    build is used. With --from, the threshold and the site list are those of `nwx spark
    facets`.
    """
    from nwx.facets.sites import read_sites

    if from_folder is not None:
        _check_alone(click.get_current_context())
    sites = read_sites(sites_file) if sites_file else None
    show_faults(sites_file, sites)
    options: dict[str, Any] = {
        "min_captures": min_captures,
        "sites": sites,
        "memory_bytes": memory * 1_000_000,
    }
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as show:
        if from_folder is None:
            built = archive.build("facets", anew=anew, progress=show, source=source, **options)
            report = cast("FacetBuildReport", built["facets"])
        else:
            report = archive.load_facets(from_folder, show)
        is_current = not archive.is_stale("facets")
    if from_folder is not None and not is_current:
        warn(
            "captures were written since the export, or it is from another archive; run nwx"
            " build-facets to add them"
        )
    if as_json:
        print_json(_facets_json(report))
    elif not quiet:
        click.echo(_facets_words(report))


def _check_alone(context: click.Context) -> None:
    """Raise UsageError if options for counting are given."""
    for name in ("source", "sites_file", "min_captures", "anew", "memory"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.removesuffix("_file").replace("_", "-")
            raise UsageError(f"--from loads everything from the folder; leave out --{option}")


def show_faults(file: Path | None, sites: "Sites | None") -> None:
    """Print the first lines of a list of sites that have no effect."""
    for fault in sites.without_effect[:_FAULTS_SHOWN] if sites else ():
        warn(f"{file}: {fault}")


def _facets_words(report: "FacetBuildReport") -> str:
    """Return the report of a build as one line of text."""
    return (
        f"{counted(report.captures, 'capture')}, {counted(report.months, 'month')} built and"
        f" {report.months_kept:,} kept, {counted(report.combinations, 'combination')},"
        f" {size_words(report.bytes)} in {report.seconds:.1f} s"
    )


def _facets_json(report: "FacetBuildReport") -> dict[str, float]:
    """Return the report of a build as JSON values."""
    return {
        "captures": report.captures,
        "months": report.months,
        "months_kept": report.months_kept,
        "combinations": report.combinations,
        "bytes": report.bytes,
        "seconds": round(report.seconds, 3),
    }


@click.command("invert-links")
@option.flag("--anew", "Read all documents again, not only those that changed.")
@option.value(
    "--from",
    option.PLACE,
    "FOLDER",
    "Load the output of `nwx spark links`, and read only documents missing there.",
    into="from_folder",
)
@option.count("--workers", "N", "Number of processes (default: CPUs).")
@option.JSON_REPORT
@click.pass_obj
def invert_links_command(
    settings: Settings,
    anew: bool,
    from_folder: Path | None,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build the index of inlinks: who links to a URL, and with which words.

    Counts the links of all documents by linked URL, year and collection. Only documents
    that are new, or were captured again since the last run, are read. Queries are answered
    from the previous index until this one is complete. If interrupted, run the same command
    again to resume. With --from, links are loaded for all documents made from the same
    captures; the resulting index is the same.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as show:
        built = archive.build(
            "links", anew=anew, workers=workers, inverted=from_folder, progress=show
        )
    report = cast("InlinkBuildReport", built["links"])
    if as_json:
        print_json(_links_json(report))
    elif not quiet:
        click.echo(_links_words(report, loads=from_folder is not None))


def _links_words(report: "InlinkBuildReport", *, loads: bool = False) -> str:
    """Return the report of a build as one line of text."""
    refused = f", {counted(report.refused, 'link')} without urlkey" if report.refused else ""
    loaded = f"{report.loaded:,} loaded, " if loads else ""
    return (
        f"{counted(report.links, 'link')} of {counted(report.documents, 'document')}"
        f" ({loaded}{report.read:,} read) to {counted(report.targets, 'URL')}{refused},"
        f" {size_words(report.bytes)} in {report.seconds:.1f} s"
    )


def _links_json(report: "InlinkBuildReport") -> dict[str, float]:
    """Return the report of a build as JSON values."""
    return asdict(report) | {"seconds": round(report.seconds, 3)}
