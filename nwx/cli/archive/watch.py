"""nwx watch"""

import sys
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.crawl.monitor_options import (
    MonitorChoices,
    monitor_options,
    taken_monitor_choices,
    watched_monitor,
)
from nwx.cli.crawl.steering_reports import AnalysisChoices, ToldAnalysis, listening, steer_options
from nwx.cli.options import extractor_option, parser_option, verify_option
from nwx.cli.output import clean, counted, error_line, json_text, size_words, warn
from nwx.cli.progress import stop_signals
from nwx.cli.quality.watched_playback import playback_listener
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.extract.extractors import Extractor
    from nwx.watching import Event, WatchOptions, WatchReport


_ERRORS_SHOWN = 5
_PATIENCE_SECONDS = 3.0
_FOLDER = click.Path(path_type=Path, file_okay=False)


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    folders: tuple[Path, ...]
    completed: Path | None
    failed: Path | None
    collection: str
    interval: float
    settle: float
    once: bool
    jobs: int | None
    verify: bool
    parser: str
    external: tuple[str, ...]
    extractors: "tuple[Extractor, ...]"
    steer: str | None
    nlp: str
    spam_hosts: str | None
    triples: bool
    monitor: str | None
    sample: str | None
    as_json: bool

    @property
    def choices(self) -> AnalysisChoices:
        return AnalysisChoices(self.nlp, self.spam_hosts, self.triples)


@click.command("watch")
@click.argument("folders", nargs=-1, metavar="DIR...", type=_FOLDER)
@option.value("--completed", _FOLDER, "DIR", "Move imported files to this folder.")
@option.value("--failed", _FOLDER, "DIR", "Move files that cannot be imported to this folder.")
@option.INTO_COLLECTION
@option.value(
    "--interval", click.FloatRange(0.1), "SECONDS", "Seconds between two scans.", default=2.0
)
@option.value(
    "--settle",
    click.FloatRange(0),
    "SECONDS",
    "Seconds without a change after which a file is complete, if it was never .open.",
    default=60.0,
)
@option.flag("--once", "Import the files that are complete now, then exit.")
@option.FILE_JOBS
@verify_option
@parser_option
@click.option(
    "--external",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="Read payloads that records of type message/external-body name, in DIR and below only.",
)
@extractor_option
@steer_options
@option.string(
    "--monitor",
    "NAME",
    "Count what is loaded as the crawl NAME, and alert, as `nwx monitor` does.",
    default=None,
)
@monitor_options
@option.string(
    "--check-playback",
    "SAMPLE",
    "Check the playback of new pages in a browser: so many of each file, or a share (5%).",
    into="sample",
    default=None,
)
@option.flag("--json", "Print events as JSON lines.", into="as_json")
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> int:
    """Import archive files from folders as a crawler closes them.

    Runs until Ctrl-C. DIR and all folders below it are scanned repeatedly. A
    file is imported when the crawler renames it from NAME.open to NAME, or when
    it has not changed for --settle seconds. Files stay where they are unless
    --completed names a folder: imported files are moved there. Files keep their
    names, and no existing file is overwritten.

    Each file is imported exactly once, even if any process is killed. A file
    that cannot be imported is reported once and left in place, or moved to
    --failed. While the archive is not writable, the command reports it and
    waits. With --once the exit code is 1 if a file could not be imported or
    moved.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.watching import watch

    monitoring = taken_monitor_choices(given)
    asked = _Options(**given)
    _check(asked.folders, asked.completed, asked.failed)
    options = _watch_options(asked)
    with (
        listening(settings, asked.steer, asked.choices) as listener,
        stop_signals() as received,
        _monitor(settings, asked, monitoring),
        ExitStack() as stack,
    ):
        told = ToldAnalysis(listener, as_json=asked.as_json) if listener else None
        checks = stack.enter_context(
            playback_listener(settings, asked.sample, told, as_json=asked.as_json)
        )
        report = watch(
            settings,
            [folder.absolute() for folder in asked.folders],
            options,
            _print_json if asked.as_json else _print,
            lambda: bool(received),
            checks or told,
        )
        if told:
            told.finish(lambda: bool(received))
        if checks:
            checks.finish(lambda: bool(received))
    if not asked.as_json:
        click.echo(_summary(report))
    return 1 if asked.once and report.failed else 0


def _watch_options(asked: _Options) -> "WatchOptions":
    from nwx.importing import ImportOptions
    from nwx.watching import WatchOptions

    return WatchOptions(
        ImportOptions(
            collection=asked.collection,
            jobs=asked.jobs or 0,
            verify=asked.verify,
            parser=asked.parser,
            external=asked.external,
            extractors=asked.extractors,
            patience_seconds=_PATIENCE_SECONDS,
        ),
        completed=asked.completed.absolute() if asked.completed else None,
        failed=asked.failed.absolute() if asked.failed else None,
        once=asked.once,
        interval_seconds=asked.interval,
        settle_seconds=asked.settle,
    )


def _monitor(
    settings: Settings, asked: _Options, choices: MonitorChoices
) -> AbstractContextManager[None]:
    folders = [folder.absolute() for folder in asked.folders]
    return watched_monitor(
        settings, asked.monitor, asked.collection, asked.interval, folders, choices
    )


def _check(folders: tuple[Path, ...], completed: Path | None, failed: Path | None) -> None:
    if not folders:
        raise UsageError("there is nothing to watch; name the folder that the crawler writes to")
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder} is no folder; make it before the watch begins")
        for name, other in (("--completed", completed), ("--failed", failed)):
            if other and folder.resolve().is_relative_to(other.resolve()):
                raise UsageError(f"{name} {other} holds the watched folder {folder}; name another")


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
            warn("the archive can be written again")
        case _:
            moved = f"; moved to {event.moved_to}" if event.moved_to else ""
            warn(f"{event.path}: {event.message}{moved}")
    if event.kind is EventKind.LOADED:
        for error in event.errors[:_ERRORS_SHOWN]:
            warn(error_line(error))
    sys.stdout.flush()


def _loaded(event: "Event") -> str:
    from nwx.watching import EventKind

    known = ", was in the archive already" if event.kind is EventKind.KNOWN else ""
    moved = f", moved to {event.moved_to}" if event.moved_to else ""
    return clean(
        f"{event.path}: {size_words(event.bytes)}, {counted(event.captures, 'capture')},"
        f" {counted(event.errors_total, 'error')}{known}{moved}"
    )


def _summary(report: "WatchReport") -> str:
    from nwx.watching import EventKind

    outcomes = report.outcomes
    loaded = outcomes[EventKind.LOADED]
    return (
        f"{loaded:,} {'file' if loaded == 1 else 'files'} loaded,"
        f" {outcomes[EventKind.KNOWN]:,} known, {outcomes[EventKind.FAILED]:,} failed"
    )
