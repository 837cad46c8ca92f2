"""nwx facets, links and kibana"""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import (
    check_one_form,
    clean,
    counted,
    date_words,
    opened_archive,
    print_csv,
    print_json,
    print_object,
    span_words,
    warn,
)
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from rich.table import Table

    from nwx.answers.count_tables import Inlinks
    from nwx.answers.tables import Rows
    from nwx.facets.criteria import Criterion
    from nwx.facets.question import FacetAnswer, Feature, Features
    from nwx.links.archive_links import PageOutlink


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
    check_one_form(csv=as_csv, json=as_json)
    if not asked["by"] and (asked["sort"] or asked["order"]):
        raise UsageError("--sort and --order need --by: without it there is no list")
    with opened_archive(settings) as archive:
        found = archive.facets(**asked | {"order": asked["order"] or ""})
    _print_facets(found.answer, found.features, as_json=as_json, as_csv=as_csv)
    if asked["where"] and not found.answer.total.captures:
        named = sorted({re.split("!?=", one)[0] for one in asked["where"]})
        ways = " or ".join(f"`nwx facets --by {name}`" for name in named)
        warn(f"no capture matches {clean(' and '.join(asked['where']))}; {ways} lists the values")


_WAYS = {
    "stored": "from stored combinations",
    "columns": "counted from columns",
    "live": "counted from the captures, because the facets are not built or out of date",
    "approximate": "ESTIMATES, because the facets are not built or out of date",
}


def _print_facets(
    answer: "FacetAnswer", features: "Sequence[Feature]", *, as_json: bool, as_csv: bool
) -> None:
    """Print an answer as JSON, as CSV, or as a table with the way it was found."""
    if as_json:
        from nwx.facets.question import answer_json

        print_json(answer_json(answer, features))
    elif as_csv:
        rows = ([*values, *map(found.value, features)] for values, found in _lines(answer))
        print_csv([*answer.question.by, *features], rows)
    else:
        _print_table(answer, features)


def _lines(answer: "FacetAnswer") -> "list[tuple[tuple[str, ...], Features]]":
    if not answer.question.by:
        return [((), answer.total)]
    return [(row.values, row.features) for row in answer.rows]


def _print_table(answer: "FacetAnswer", features: "Sequence[Feature]") -> None:
    from rich.table import Table  # help needs no rich

    from nwx.cli.terminal import console
    from nwx.facets.question import FEATURES

    by = answer.question.by
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    if by:
        _fill_list(table, answer, by, features)
    else:
        table.show_header = False
        table.add_column()
        table.add_column(justify="right")
        for feature in features:
            table.add_row(FEATURES[feature].title, _number(answer.total.value(feature)))
    console().print(table)
    click.echo(f"({_WAYS[answer.answered_by]}, {answer.took_ms:.0f} ms)")


def _fill_list(
    table: "Table", answer: "FacetAnswer", by: "Sequence[Criterion]", features: "Sequence[Feature]"
) -> None:
    from rich.text import Text

    for name in by:
        table.add_column(name.value, overflow="fold")
    for feature in features:
        table.add_column(feature.value.replace("_", " "), justify="right")
    for values, found in _lines(answer):
        numbers = (_number(found.value(feature)) for feature in features)
        table.add_row(*(Text(clean(value)) for value in values), *numbers)
    table.add_section()
    numbers = (_number(answer.total.value(feature)) for feature in features)
    table.add_row("all", *([""] * (len(by) - 1)), *numbers)


def _number(value: int | float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


_ANCHORS_SHOWN = 10
_IN_COLUMNS = ("url", "timestamp", "kind", "text", "target")


@click.command("links")
@click.argument("place", metavar="URL|HOST")
@click.option(
    "--in", "direction", flag_value="in", default=True, help="Links to the URL or host (default)."
)
@click.option("--out", "direction", flag_value="out", help="Links of its newest capture.")
@option.value("--year", click.IntRange(0, 9999), "YYYY", "Only of this year.")
@option.string("--collection", "NAME", "Only of this collection.")
@option.count("--limit", "N", "List at most N links.")
@option.CSV
@option.JSON
@click.pass_obj
def links_command(
    settings: Settings,
    /,
    place: str,
    direction: str,
    as_csv: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Show who links to a URL or host, or what it links to.

    Links to a URL are counted by distinct linking pages other than itself, as last indexed
    by `nwx invert-links`; the URL itself need not have been captured. A host without path
    stands for all its URLs, and then only links from and to other hosts count. --out shows
    which of the linked URLs were captured.
    """
    check_one_form(csv=as_csv, json=as_json)
    with opened_archive(settings) as archive:
        if direction == "out":
            _print_outlinks(place, archive.outlinks(place, **given), as_csv, as_json)
        else:
            _print_inlinks(place, archive.links(place, **given), as_csv, as_json)


def _print_inlinks(place: str, links: "Inlinks", as_csv: bool, as_json: bool) -> None:
    if not links.is_current:
        warn(
            "the archive changed since links were last inverted;"
            " run `nwx invert-links` to bring them up to date"
        )
    if as_csv:
        print_csv(_IN_COLUMNS, links)
    elif as_json:
        rows = ({name: getattr(one, name) for name in _IN_COLUMNS[:-1]} for one in links)
        print_object(_counts_json(place, links), "from", rows)
    else:
        _write_words(place, links)


def _counts_json(place: str, links: "Inlinks") -> dict[str, Any]:
    counts = links.counts
    return {
        "url": place,
        "documents": counts.documents,
        "hosts": counts.hosts,
        "domains": counts.domains,
        "first": counts.first,
        "last": counts.last,
        "anchors": [{"text": one.text, "count": one.documents} for one in links.anchors],
    }


def _write_words(place: str, links: "Inlinks") -> None:
    counts = links.counts
    if counts.documents:
        sites = f"{counted(counts.hosts, 'host')}, {counted(counts.domains, 'domain')}"
        click.echo(
            f"{clean(place)}: linked from {counted(counts.documents, 'page')} on {sites},"
            f" {span_words(counts.first, counts.last)}"
        )
        kinds = (f"{name} {count:,}" for name, count in counts.kinds.items())
        click.echo(f"kinds: {', '.join(kinds)}")
    else:
        click.echo(f"{clean(place)}: no page links to it")
    for one in links.anchors[:_ANCHORS_SHOWN]:
        click.echo(f"{one.documents:>10,}  {clean(one.text)}")
    for link in links:
        text = f"  {clean(link.text)}" if link.text else ""
        click.echo(f"{date_words(link.timestamp)} {link.kind:10} {clean(link.url)}{text}")


def _print_outlinks(place: str, links: "Rows[PageOutlink]", as_csv: bool, as_json: bool) -> None:
    if as_json:
        print_object({"url": place}, "to", map(asdict, links))
        return
    if as_csv:
        print_csv(links.columns, map(links.cells, links))
        return
    page = ""
    for one in links:
        if one.page != page:
            page = one.page
            click.echo(f"{clean(page)} of {date_words(one.timestamp)}")
        mark = "captured" if one.captured else "missing "
        click.echo(f"  {mark} {one.kind:10} {clean(one.url)}  {clean(one.text)}".rstrip())
    if not page:
        click.echo(f"{clean(place)}: no outlinks were captured")


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
