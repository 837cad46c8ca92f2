"""nwx monitor, and the parts it shares with nwx watch --monitor"""

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import (
    counted,
    is_unrestricted,
    json_text,
    opened_archive,
    print_json,
    stop_signals,
    warn,
)
from nwx.errors import UsageError
from nwx.keys import check_collection
from nwx.model import DEFAULT_COLLECTION
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.quality.monitor.monitor import MonitorOptions, TellProblem, TellReport
    from nwx.quality.monitor.report import Alert, Channel, MonitorReport


_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class MonitorChoices:
    """The monitoring options given on the command line."""

    crawl_log: Path | None = None
    webhook: str = ""
    alert_command: str = ""
    thresholds: Path | None = None

    def options(
        self,
        settings: Settings,
        name: str,
        collection: str,
        interval: float,
        folders: Sequence[Path] = (),
        *,
        anew: bool = False,
    ) -> "MonitorOptions":
        """Return the options of a monitor; raises UsageError on an invalid name."""
        from nwx.quality.monitor.alerts import AlertThresholds, read_thresholds
        from nwx.quality.monitor.monitor import MonitorOptions
        from nwx.steering.specifications.parts import name_problem

        if problem := name_problem(name):
            raise UsageError(problem)
        place = self.thresholds or settings.alerts.thresholds
        return MonitorOptions(
            name,
            collection,
            self.crawl_log.absolute() if self.crawl_log else None,
            interval,
            read_thresholds(Path(place)) if place else AlertThresholds(),
            folders,
            anew,
        )

    def channels(self, settings: Settings) -> "list[Channel]":
        """Return the channels for alerts; raises UsageError on invalid ones."""
        from nwx.quality.monitor.report import AlertCommand, Webhook

        found: list[Channel] = []
        if webhook := self.webhook or settings.alerts.webhook:
            if not webhook.startswith(_SCHEMES):
                raise UsageError("--webhook takes an http:// or https:// address")
            found.append(Webhook(webhook))
        if command := self.alert_command or settings.alerts.command:
            try:
                arguments = shlex.split(command)
            except ValueError as error:
                raise UsageError(f"--alert-command cannot be read: {error}") from error
            if not arguments:
                raise UsageError("--alert-command is empty; name a program")
            found.append(AlertCommand(arguments))
        return found


def taken_monitor_choices(given: dict[str, Any]) -> MonitorChoices:
    """Remove the monitoring options from the arguments of a command, and return them."""
    return MonitorChoices(
        given.pop("crawl_log"),
        given.pop("webhook"),
        given.pop("alert_command"),
        given.pop("thresholds"),
    )


monitor_options = option.option_set(
    option.file_path(
        "--crawl-log",
        "crawl.log of Heritrix to follow as it is written, rotated files included.",
        metavar="PATH",
    ),
    option.string("--webhook", "URL", "Address that gets each alert as JSON."),
    option.string(
        "--alert-command", "COMMAND", "Program that gets each alert as JSON on standard input."
    ),
    option.value(
        "--thresholds",
        click.Path(path_type=Path, exists=True, dir_okay=False),
        "FILE",
        "When to alert: the table [alerts] of a TOML file.  [default: NWX_THRESHOLDS]",
    ),
)
"""The options for monitoring a crawl."""


def crawl_collection(settings: Settings, name: str) -> str:
    """Return the collection of a crawl, "" if there is no specification with this name."""
    with opened_archive(settings) as archive:
        return archive.crawl_collection(name)


def tell_problem(text: str) -> None:
    """Print a problem of a monitor, which keeps running."""
    warn(text)
    sys.stderr.flush()


_AlertKey = tuple[str, str, str, bool]


class AlertLines:
    """Prints alerts when they begin and end, each once; of earlier ones only how many are open."""

    def __init__(self) -> None:
        self._told: set[_AlertKey] | None = None

    def tell(self, report: "MonitorReport") -> None:
        """Print the alerts of a report that were not printed before."""
        now: dict[_AlertKey, Alert] = {
            (one.kind, one.host, one.since, bool(one.cleared)): one for one in report.alerts
        }
        if self._told is None:
            # Those of an earlier run neither began nor ended in this look.
            self._told = {
                key for key, one in now.items() if (one.cleared or one.since) != report.looked
            }
            if earlier := sum(not now[key].cleared for key in self._told):
                tell_problem(f"open already: {counted(earlier, 'alert')}")
        for key in sorted(now.keys() - self._told, key=lambda key: (key[2], key)):
            alert = now[key]
            place = f" {alert.host}:" if alert.host else ""
            if alert.cleared:
                tell_problem(f"alert ended: {alert.kind}:{place} {alert.message}")
            else:
                tell_problem(f"alert: {alert.kind}:{place} {alert.message}")
        self._told = set(now)


def without_hidden_hosts(settings: Settings, report: "MonitorReport") -> "MonitorReport":
    """Return a report without the hosts hidden by access rules; its sums count all captures."""
    hosts = {*(one.host for one in report.hosts), *(one.host for one in report.alerts)}
    with opened_archive(settings) as archive:
        hidden = archive.hidden_urls({f"http://{host}/" for host in hosts if host})
    if not hidden:
        return report
    return replace(
        report,
        hosts=tuple(one for one in report.hosts if f"http://{one.host}/" not in hidden),
        alerts=tuple(one for one in report.alerts if f"http://{one.host}/" not in hidden),
    )


@contextmanager
def watched_monitor(
    settings: Settings,
    name: str | None,
    collection: str,
    interval: float,
    folders: Sequence[Path],
    choices: MonitorChoices,
) -> Iterator[None]:
    """Monitor a crawl during nwx watch, if one is named."""
    if not name:
        if choices != MonitorChoices():
            raise UsageError(
                "--crawl-log, --webhook, --alert-command and --thresholds need --monitor NAME"
            )
        yield
        return
    from nwx.quality.monitor.monitor import monitor_beside

    options = choices.options(settings, name, collection, interval, folders)
    lines = AlertLines()
    is_whole = is_unrestricted()  # checked here, as the monitor runs in another thread

    def tell(report: "MonitorReport") -> None:
        lines.tell(report if is_whole else without_hidden_hosts(settings, report))

    with monitor_beside(settings, options, choices.channels(settings), tell, tell_problem):
        yield


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
    help="Folder whose disk space to monitor, in addition to those of the log and the archive.",
)
@option.value(
    "--interval", option.Number(0.1, 3_600), "SECONDS", "Seconds between two checks.", default=5.0
)
@option.flag("--once", "Check once, print the report, and exit.")
@option.flag("--anew", "Discard earlier counts.")
@option.flag("--json", "Print each report as a line of JSON.", into="as_json")
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> int:
    """Monitor a running crawl: counts by minute and host, and alerts.

    Counts new captures in the archive, whoever imports them, and with --crawl-log those
    that Heritrix logs: pages, bytes, errors, statuses, types, hosts, duplicates and new
    documents. Captures in both are counted once. Runs until Ctrl-C; started again with the
    same NAME and log, it resumes. NAME is that of a crawl specification, or any other; by
    default that of the collection.

    Hosts hidden by access rules are left out of reports and alerts (but not of totals,
    webhooks and commands) unless nwx --unrestricted is used.

    Reports include alerts. If they are lines, alerts are also printed to standard error
    when they begin and end; of those open at the start, only the number is printed. A
    webhook or command is notified once, when an alert begins.
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
    """Return the name of the monitor and its collection."""
    if not collection and name:
        collection = crawl_collection(settings, name)
    collection = collection or DEFAULT_COLLECTION
    check_collection(collection)
    return name or collection, collection


def _tellers(stack: ExitStack, *, once: bool, as_json: bool) -> "tuple[TellReport, TellProblem]":
    """Return the functions that print reports and problems."""
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
    from nwx.cli.crawl.tables import live_monitor, print_monitor

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
