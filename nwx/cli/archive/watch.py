"""nwx watch and nwx migrate"""

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.crawl.monitor import monitor_options, taken_monitor_choices, watched_monitor
from nwx.cli.crawl.steering_reports import ToldAnalysis, listening, steer_options, taken_choices
from nwx.cli.options import external_option, extractor_option, parser_option, verify_option
from nwx.cli.output import (
    clean,
    command_user,
    counted,
    error_line,
    json_text,
    opened_archive,
    print_json,
    progress_bar,
    size_words,
    stop_signals,
    warn,
)
from nwx.cli.quality.check_playback import playback_listener
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx import Archive
    from nwx.importing.pywb_collections import PywbCollection
    from nwx.watching import Event, WatchReport

_ERRORS_SHOWN = 5
_PATIENCE_SECONDS = 3.0
_OF_IMPORT = ("verify", "parser", "external", "extractors")
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command("watch")
@click.argument("folders", nargs=-1, metavar="DIR...", type=_FOLDER)
@option.value("--completed", _FOLDER, "DIR", "Move imported files to this folder.")
@option.value("--failed", _FOLDER, "DIR", "Move files that cannot be imported to this folder.")
@option.INTO_COLLECTION
@option.seconds("--interval", "Seconds between two scans.", default=2.0, least=0.1)
@option.seconds(
    "--settle",
    "Seconds without change after which a file that was never .open is complete.",
    default=60.0,
)
@option.flag("--once", "Import the files that are complete now, then exit.")
@option.FILE_JOBS
@verify_option
@parser_option
@external_option
@extractor_option
@steer_options
@option.string(
    "--monitor",
    "NAME",
    "Monitor the crawl NAME, with alerts, as `nwx monitor` does.",
    default=None,
)
@monitor_options
@option.string(
    "--check-playback",
    "SAMPLE",
    "Check the playback of new pages in a browser: a number per file, or a share (5%).",
    into="sample",
    default=None,
)
@option.flag("--json", "Print events as JSON lines.", into="as_json")
@click.pass_obj
def command(
    settings: Settings,
    /,
    folders: tuple[Path, ...],
    collection: str,
    interval: float,
    once: bool,
    steer: str | None,
    monitor: str | None,
    sample: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Import archive files from folders while a crawler writes them.

    Runs until Ctrl-C. DIR and all folders below it are scanned repeatedly. A
    file is complete when the crawler renames it from NAME.open to NAME, or when
    it has not changed for --settle seconds; before, its complete records are
    imported as it grows. Complete files stay where they are unless --completed
    names a folder: they are moved there. Files keep their names, and no
    existing file is overwritten.

    Each file is imported exactly once, even if any process is killed. A file
    that cannot be imported is reported once and left in place, or moved to
    --failed. While the archive is not writable, the command reports it and
    waits. With --once the exit code is 1 if a file could not be imported or
    moved.
    """
    from nwx.importing import ImportOptions
    from nwx.watching import WatchOptions, watch

    monitoring, analysis = taken_monitor_choices(given), taken_choices(given)
    completed, failed = given.pop("completed"), given.pop("failed")
    _check(folders, completed, failed)
    watched = [folder.absolute() for folder in folders]
    options = WatchOptions(
        ImportOptions(
            collection=collection,
            jobs=given.pop("jobs") or 0,
            **{name: given.pop(name) for name in _OF_IMPORT},
            patience_seconds=_PATIENCE_SECONDS,
        ),
        completed=completed.absolute() if completed else None,
        failed=failed.absolute() if failed else None,
        once=once,
        interval_seconds=interval,
        settle_seconds=given.pop("settle"),
    )
    with (
        listening(settings, steer, analysis) as listener,
        stop_signals() as received,
        watched_monitor(settings, monitor, collection, interval, watched, monitoring),
        ExitStack() as stack,
    ):
        told = ToldAnalysis(listener, as_json=as_json) if listener else None
        checks = stack.enter_context(playback_listener(settings, sample, told, as_json=as_json))
        tell, stopping = _print_json if as_json else _print, lambda: bool(received)
        report = watch(settings, watched, options, tell, stopping, checks or told)
        if told:
            told.finish(stopping)
        if checks:
            checks.finish(stopping)
    if not as_json:
        click.echo(_summary(report))
    return 1 if once and report.failed else 0


def _check(folders: tuple[Path, ...], completed: Path | None, failed: Path | None) -> None:
    if not folders:
        raise UsageError("there is nothing to watch; name the folder that the crawler writes to")
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder; create it first")
        for name, other in (("--completed", completed), ("--failed", failed)):
            if other and folder.resolve().is_relative_to(other.resolve()):
                raise UsageError(
                    f"{name} {other} contains the watched folder {folder}; choose another"
                )


def _print_json(event: "Event") -> None:
    fields: dict[str, Any] = {"event": event.kind.value}
    fields |= {name: value for name, value in asdict(event).items() if name != "kind"}
    click.echo(json_text(fields))
    sys.stdout.flush()


def _print(event: "Event") -> None:
    from nwx.watching import EventKind

    match event.kind:
        case EventKind.LOADED | EventKind.KNOWN:
            click.echo(_loaded(event))
        case EventKind.WAITING:
            warn(f"{event.message}; trying again in {event.retry_seconds:g} s")
        case EventKind.BACK:
            warn("the archive is writable again")
        case _:
            moved = f"; moved to {event.moved_to}" if event.moved_to else ""
            warn(f"{event.path}: {event.message}{moved}")
    if event.kind is EventKind.LOADED:
        for error in event.errors[:_ERRORS_SHOWN]:
            warn(error_line(error))
    sys.stdout.flush()


def _loaded(event: "Event") -> str:
    from nwx.watching import EventKind

    known = ", already in the archive" if event.kind is EventKind.KNOWN else ""
    moved = f", moved to {event.moved_to}" if event.moved_to else ""
    return clean(
        f"{event.path}: {size_words(event.bytes)}, {counted(event.captures, 'capture')},"
        f" {counted(event.errors_total, 'error')}{known}{moved}"
    )


def _summary(report: "WatchReport") -> str:
    from nwx.watching import EventKind

    outcomes = report.outcomes
    line = (
        f"{counted(outcomes[EventKind.LOADED], 'file')} loaded,"
        f" {outcomes[EventKind.KNOWN]:,} known, {outcomes[EventKind.FAILED]:,} failed"
    )
    if files := len(report.partial):
        captures = counted(sum(report.partial.values()), "capture")
        line += f"; {captures} loaded of {counted(files, 'file')} not complete yet"
    return line


_SHOWN = 20


@click.group("migrate")
def migrate_command() -> None:
    """Import collections, archive files and access rules of another service."""


@migrate_command.command("pywb")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@option.flag("--dry-run", "Only list what would be imported.")
@option.JSON_REPORT
@click.pass_obj
def pywb(settings: Settings, folder: Path, dry_run: bool, as_json: bool, quiet: bool) -> int:
    """Import the pywb collections in FOLDER, in place, with their access rules.

    FOLDER contains `collections` and `config.yaml`. Rules are imported first, so that
    nothing is shown that pywb hides; each applies to its collection. Archive files stay
    where they are. If interrupted, run the same command again to resume. The exit code is 1
    if something could not be imported; it is listed.
    """
    from nwx.importing.pywb_collections import pywb_collections

    found = pywb_collections(folder)
    done: list[dict[str, Any]] = []
    with opened_archive(settings) as archive, stop_signals() as received:
        for one in found:
            if not received:
                done.append(_listed(one) if dry_run else _taken(archive, one, received, quiet))
                if not as_json:
                    _print_collection(done[-1], quiet=quiet)
    if as_json:
        print_json(done)
    if received:
        warn("stopped; run the same command again to resume")
        return 128 + received[0]
    return 1 if any(one["left"] for one in done) else 0


def _listed(one: "PywbCollection") -> dict[str, Any]:
    return {
        "collection": one.name,
        "archives": [str(path) for path in one.archives],
        "rules": [str(path) for path in one.rules],
        "default": one.action or (f"embargo of {one.years} years" if one.years else ""),
        "left": list(one.left),
    }


def _taken(
    archive: "Archive", one: "PywbCollection", received: list[int], quiet: bool
) -> dict[str, Any]:
    """Add the rules of a collection, import its files, and return the results."""
    archive.create()
    told = _listed(one)
    told["rules_read"] = 0
    given: dict[str, Any] = {"collection": one.name, "reason": "default_access of pywb"}
    if one.action:
        archive.add_rule(one.action, "*", by=command_user(), **given)
    if one.years:
        archive.add_rule("embargo", "*", by=command_user(), years=one.years, **given)
    for path in one.rules:
        try:
            with path.open("rb") as stream:
                read = archive.load_rules(
                    stream, f"pywb, {path.name}", by=command_user(), collection=one.name
                )
        except OSError as error:
            told["left"].append(f"{path}: {error.strerror}")
            continue
        told["rules_read"] += read.rules
        told["left"] += [f"{path}, line {each.line}: {each.problem}" for each in read.problems]
    if one.archives:
        with progress_bar(quiet=quiet) as progress:
            report = archive.import_(
                one.archives,
                collection=one.name,
                progress=progress,
                stopping=lambda: bool(received),
            )
        told |= {"files": report.files, "captures": report.captures}
        told["left"] += [error_line(error) for error in report.errors]
    return told


def _print_collection(told: dict[str, Any], *, quiet: bool) -> None:
    for line in told["left"][:_SHOWN]:
        warn(clean(f"{told['collection']}: {line}"))
    if len(told["left"]) > _SHOWN:
        warn(f"… and {counted(len(told['left']) - _SHOWN, 'more line')}; --json lists them")
    if quiet:
        return
    if "rules_read" in told:
        files, captures = told.get("files", 0), told.get("captures", 0)
        parts = [counted(files, "file"), f"{counted(captures, 'capture')} new"]
        parts.append(counted(told["rules_read"], "rule"))
    else:
        parts = [*map(clean, told["archives"]), counted(len(told["rules"]), "file") + " of rules"]
    if told["default"]:
        parts.append(f"default: {told['default']}")
    click.echo(f"{clean(told['collection'])}: {', '.join(parts)}")
