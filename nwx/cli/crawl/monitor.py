"""nwx monitor"""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.crawl.monitor_options import (
    AlertLines,
    crawl_collection,
    monitor_options,
    taken_monitor_choices,
    tell_problem,
    without_hidden_hosts,
)
from nwx.cli.output import counted, json_text, print_json, stop_signals
from nwx.keys import check_collection
from nwx.model import DEFAULT_COLLECTION
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.quality.monitor.monitor import TellProblem, TellReport
    from nwx.quality.monitor.report import MonitorReport


@click.command("monitor")
@click.argument("name", metavar="[NAME]", required=False, default="")
@option.string(
    "--collection",
    "NAME",
    "Collection whose captures are counted.  [default: that of the crawl NAME, else default]",
)
@monitor_options
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder whose disk must not get full, beside those of the log and of the archive.",
)
@option.value(
    "--interval", click.FloatRange(0.1, 3_600), "SECONDS", "Seconds between two looks.", default=5.0
)
@option.flag("--once", "Look once, print the report, and exit.")
@option.flag("--anew", "Forget what was counted before.")
@option.flag("--json", "Print each report as a line of JSON.", into="as_json")
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> int:
    """Watch a crawl as it runs: sums by minute and host, and alerts.

    Counts what is new in the archive, whoever imports it, and with --crawl-log
    what Heritrix logs: pages, bytes, errors, statuses, types, hosts, duplicates
    and new documents. What both tell is counted once. Runs until Ctrl-C and goes
    on where it was when it is started again, by NAME, with the same log: a crawl
    with a specification, or any name. NAME is by default that of the collection.

    Hosts that access rules hide are left out of reports and alerts (not of
    sums, nor of what a webhook or a command is told) unless nwx --unrestricted
    is used.

    Reports have the alerts. Where they are lines, alerts are also printed to
    standard error when they begin and end. A webhook or a command is told once,
    when one begins.
    """
    from nwx.quality.monitor.monitor import run_monitor

    choices = taken_monitor_choices(given)
    name, collection = _names(settings, given["name"], given["collection"])
    once, as_json = given["once"], given["as_json"]
    options = choices.options(
        settings, name, collection, given["interval"], given["folders"], anew=given["anew"]
    )
    channels = choices.channels(settings)
    with ExitStack() as stack:
        show, on_problem = _tellers(stack, once=once, as_json=as_json)

        def tell(report: "MonitorReport") -> None:
            show(without_hidden_hosts(settings, report))

        received = stack.enter_context(stop_signals())
        run_monitor(
            settings, options, channels, tell, on_problem, lambda: bool(received), once=once
        )
    return 0


def _names(settings: Settings, name: str, collection: str) -> tuple[str, str]:
    """Return the name of the monitor, and the collection."""
    if not collection and name:
        collection = crawl_collection(settings, name)
    collection = collection or DEFAULT_COLLECTION
    check_collection(collection)
    return name or collection, collection


def _tellers(stack: ExitStack, *, once: bool, as_json: bool) -> "tuple[TellReport, TellProblem]":
    """Return what prints reports, and what prints problems."""
    lines = AlertLines()
    if as_json:
        from nwx.quality.monitor.report import monitor_json

        def tell_json(report: "MonitorReport") -> None:
            if once:
                print_json(monitor_json(report))
                return
            click.echo(json_text(monitor_json(report)))
            sys.stdout.flush()
            lines.tell(report)

        return tell_json, tell_problem
    from nwx.cli.crawl.monitor_reports import live_monitor, print_monitor

    if once:
        return print_monitor, tell_problem
    if sys.stdout.isatty():
        shares_terminal = sys.stderr.isatty()
        show, show_line = stack.enter_context(live_monitor())

        def show_problem(text: str) -> None:
            show_line(f"nwx: {text}")

        return show, show_problem if shares_terminal else tell_problem

    def tell_line(report: "MonitorReport") -> None:
        click.echo(_line(report))
        sys.stdout.flush()
        lines.tell(report)

    return tell_line, tell_problem


def _line(report: "MonitorReport") -> str:
    totals = report.totals
    looked = report.looked
    queue = "" if report.queued is None else f", {report.queued:,} queued"
    return (
        f"{looked[8:10]}:{looked[10:12]}:{looked[12:]} {counted(totals.captures, 'capture')},"
        f" {counted(totals.pages, 'page')}, {counted(totals.errors, 'error')},"
        f" {counted(report.archived, 'capture')} in the archive{queue},"
        f" {counted(len(report.open_alerts), 'alert')}"
    )
