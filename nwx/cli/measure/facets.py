"""nwx facets, build-facets and kibana"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from nwx.cli import option
from nwx.cli.output import (
    clean,
    counted,
    opened_archive,
    print_json,
    progress_bar,
    size_words,
    warn,
)
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.facets.build import FacetBuildReport
    from nwx.facets.sites import Sites


@click.command("facets")
@option.repeated(
    "--where",
    "CONDITION",
    help="Count only captures that meet this condition: `tld=fr,be`, `month=2013-01..2013-12`,"
    " `type!=html`. May be repeated; all must be met.",
)
@option.string("--by", "CRITERIA", "Group by a criterion, or by two separated by a comma.")
@option.string(
    "--feature",
    "FEATURES",
    "Features to show, separated by commas.  [default: all]",
    into="features",
)
@option.string("--sort", "FEATURE", "Sort the list by a feature, or by `value`.")
@option.choice_of("--order", ["asc", "desc"], "Ascending or descending order.")
@option.count("--top --limit", "N", "Maximum number of rows.  [default: all]", into="limit")
@option.flag(
    "--approximate",
    help="Server: estimate counts if the facets are not built or out of date.",
)
@option.JSON
@option.CSV
@click.pass_obj
def facets_command(settings: Settings, /, *, as_json: bool, as_csv: bool, **asked: Any) -> None:
    """Count captures, documents, URLs and bytes by any criteria.

    Criteria are status, month, year, site, type, tld, size, depth and collection. Features
    are captures, unique_documents, unique_urls, bytes, unique_bytes, average_size,
    average_document_size and duplication_ratio. Counts are current, and exact unless
    --approximate is given. After `nwx build-facets` they are fast.
    """
    from nwx.cli.measure.tables import print_facets

    with opened_archive(settings) as archive:
        found = archive.facets(**asked | {"order": asked["order"] or ""})
    print_facets(found.answer, found.features, as_json=as_json, as_csv=as_csv)
    if asked["where"] and not found.answer.total.captures:
        named = sorted({re.split("!?=", one)[0] for one in asked["where"]})
        ways = " or ".join(f"`nwx facets --by {name}`" for name in named)
        warn(f"no capture matches {clean(' and '.join(asked['where']))}; {ways} lists the values")


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
        print_json(facets_json(report))
    elif not quiet:
        click.echo(facets_words(report))


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


def facets_words(report: "FacetBuildReport") -> str:
    """Return the report of a build as one line of text."""
    return (
        f"{counted(report.captures, 'capture')}, {counted(report.months, 'month')} built and"
        f" {report.months_kept:,} kept, {counted(report.combinations, 'combination')},"
        f" {size_words(report.bytes)} in {report.seconds:.1f} s"
    )


def facets_json(report: "FacetBuildReport") -> dict[str, float]:
    """Return the report of a build as JSON values."""
    return {
        "captures": report.captures,
        "months": report.months,
        "months_kept": report.months_kept,
        "combinations": report.combinations,
        "bytes": report.bytes,
        "seconds": round(report.seconds, 3),
    }


@click.command("kibana")
@option.string(
    "--push", "URL", "Send them to the Kibana at this address.", into="address", default=None
)
@option.string("--space", "NAME", "Kibana space to send them to.")
@click.option(
    "--overwrite/--no-overwrite",
    default=True,
    help="Replace objects of an earlier push (default).",
)
@click.pass_obj
def kibana_command(settings: Settings, /, address: str | None, space: str, overwrite: bool) -> None:
    """Print data views, charts and a dashboard for Kibana.

    The output is JSON lines of saved objects, for Stack Management > Saved
    Objects > Import of Kibana 8.9 and later. They read the indices of --prefix.
    --push sends them to a running Kibana, with --api-key, or --username and
    --password. Where --engine is an OpenSearch (opensearch+https://…), they
    are for OpenSearch Dashboards.
    """
    from nwx.exports.kibana import as_lines, dashboards_objects, push, saved_objects

    is_opensearch = settings.engine.startswith("opensearch+")
    objects = (dashboards_objects if is_opensearch else saved_objects)(settings.server.prefix)
    if address is None:
        click.echo(as_lines(objects), nl=False)
        return
    if is_opensearch and space:
        raise UsageError("OpenSearch Dashboards has no spaces; leave --space out")
    pushed = push(address, settings.server, objects, space=space, overwrite=overwrite)
    name = "opensearch dashboards" if is_opensearch else "kibana"
    click.echo(f"{pushed.objects} objects are in the {name} at {clean(address)}")
