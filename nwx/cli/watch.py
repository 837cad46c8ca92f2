"""nwx watch"""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from nwx.cli.output import clean, json_text, size_words
from nwx.cli.signals import stop_signals
from nwx.errors import UsageError
from nwx.importing import PARSERS, ImportOptions
from nwx.model import DEFAULT_COLLECTION, ReadError
from nwx.settings import Settings
from nwx.watching import Event, EventKind, WatchOptions, WatchReport, watch

_ERRORS_SHOWN = 5
_PATIENCE_SECONDS = 3.0
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command("watch")
@click.argument("folders", nargs=-1, metavar="DIR...", type=_FOLDER)
@click.option(
    "--completed", type=_FOLDER, metavar="DIR", help="Move the files there that were loaded."
)
@click.option(
    "--failed", type=_FOLDER, metavar="DIR", help="Move the files there that cannot be loaded."
)
@click.option(
    "--collection",
    default=DEFAULT_COLLECTION,
    show_default=True,
    metavar="NAME",
    help="The collection that the captures belong to.",
)
@click.option(
    "--interval",
    type=click.FloatRange(0.1),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look.",
)
@click.option(
    "--settle",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a file must not have changed to be whole, if it never was .open.",
)
@click.option("--once", is_flag=True, help="Load what is whole now, then end.")
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Files to read at once.  [the cores]"
)
@click.option("--verify", is_flag=True, help="Check the digests of all records.")
@click.option(
    "--parser",
    type=click.Choice(PARSERS),
    default="fast",
    show_default=True,
    help="How to read HTML.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what happens as JSON lines.")
@click.pass_obj
def command(
    settings: Settings,
    /,
    folders: tuple[Path, ...],
    completed: Path | None,
    failed: Path | None,
    collection: str,
    interval: float,
    settle: float,
    once: bool,
    jobs: int | None,
    verify: bool,
    parser: str,
    as_json: bool,
) -> int:
    """Load archive files from folders as a crawler closes them, until Ctrl-C.

    DIR and all folders below it are looked at again and again. A file is
    loaded when the crawler renames it from NAME.open to NAME, or has not
    changed it for --settle seconds. Nothing is moved unless --completed
    says where to: each file then goes there once it is in the archive.
    Files keep their names, and no other file is ever written over.

    Each file is loaded exactly once, whatever is killed when; one that
    cannot be loaded is reported once and left, or moved to --failed. While
    the archive cannot be written, the watch waits and says so. With --once
    the exit code is 1 when a file could not be loaded or moved.
    """
    _check(folders, completed, failed)
    options = WatchOptions(
        ImportOptions(
            collection=collection,
            jobs=jobs or 0,
            verify=verify,
            parser=parser,
            patience_seconds=_PATIENCE_SECONDS,
        ),
        completed=completed.absolute() if completed else None,
        failed=failed.absolute() if failed else None,
        once=once,
        interval_seconds=interval,
        settle_seconds=settle,
    )
    with stop_signals() as received:
        report = watch(
            settings,
            [folder.absolute() for folder in folders],
            options,
            _print_json if as_json else _print,
            lambda: bool(received),
        )
    if not as_json:
        click.echo(_summary(report))
    return 1 if once and report.failed else 0


def _check(folders: tuple[Path, ...], completed: Path | None, failed: Path | None) -> None:
    if not folders:
        raise UsageError("there is nothing to watch; name the folder that the crawler writes to")
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder} is no folder; make it before the watch begins")
        for name, other in (("--completed", completed), ("--failed", failed)):
            if other and folder.resolve().is_relative_to(other.resolve()):
                raise UsageError(f"{name} {other} holds the watched folder {folder}; name another")


def _print_json(event: Event) -> None:
    fields: dict[str, Any] = {"event": event.kind.value}
    fields |= {name: value for name, value in asdict(event).items() if name != "kind"}
    click.echo(json_text(fields))
    sys.stdout.flush()


def _print(event: Event) -> None:
    match event.kind:
        case EventKind.LOADED | EventKind.KNOWN:
            click.echo(_loaded(event))
        case EventKind.WAITING:
            _warn(f"{event.message}; trying again in {event.retry_seconds:g} s")
        case EventKind.BACK:
            _warn("the archive can be written again")
        case _:
            moved = f"; moved to {event.moved_to}" if event.moved_to else ""
            _warn(f"{event.path}: {event.message}{moved}")
    if event.kind is EventKind.LOADED:
        for error in event.errors[:_ERRORS_SHOWN]:
            _warn(_error_line(error))
    sys.stdout.flush()


def _loaded(event: Event) -> str:
    known = ", was in the archive already" if event.kind is EventKind.KNOWN else ""
    moved = f", moved to {event.moved_to}" if event.moved_to else ""
    return clean(
        f"{event.path}: {size_words(event.bytes)}, {event.captures:,} captures,"
        f" {event.errors_total:,} errors{known}{moved}"
    )


def _error_line(error: ReadError) -> str:
    place = "" if error.offset is None else f" at {error.offset}"
    return f"{error.file}{place}: {error.message} ({error.kind})"


def _warn(text: str) -> None:
    click.echo(f"nwx: {clean(text)}", err=True)


def _summary(report: WatchReport) -> str:
    outcomes = report.outcomes
    loaded = outcomes[EventKind.LOADED]
    return (
        f"{loaded:,} {'file' if loaded == 1 else 'files'} loaded,"
        f" {outcomes[EventKind.KNOWN]:,} known, {outcomes[EventKind.FAILED]:,} failed"
    )
