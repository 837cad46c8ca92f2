"""nwx backup, restore and migrate"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import (
    clean,
    command_user,
    counted,
    error_line,
    opened_archive,
    print_json,
    progress_bar,
    stop_signals,
    warn,
)
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx import Archive
    from nwx.importing.pywb_collections import PywbCollection


@click.command("backup")
@click.argument("place")
@option.count("--keep", "N", "Keep only the N newest backups at PLACE.")
@option.flag("--check", "Check the backup as `nwx check` does; delete it if anything is wrong.")
@option.JSON_REPORT
@click.pass_obj
def backup_command(
    settings: Settings, place: str, keep: int | None, check: bool, as_json: bool, quiet: bool
) -> None:
    """Copy the whole archive to PLACE, consistently, while others write to it.

    PLACE is a folder. The backup is a folder in it, named by the time (UTC), and is itself
    an archive: search it with nwx --engine PLACE/NAME search. Files that never change are
    hard links to those of the archive, or of the previous backup; only a folder on another
    disk protects against disk failure.

    For an archive on a search server, PLACE is a snapshot repository registered there; the
    backup is a set of snapshots in it.
    """
    with (
        opened_archive(settings) as archive,
        progress_bar(quiet=quiet or as_json) as progress,
    ):
        made = archive.backup(place, keep=keep or 0, check=check, progress=progress)
    if as_json:
        print_json({"backup": made})
    elif not quiet:
        click.echo(clean(made))


@click.command("restore")
@click.argument("backup")
@click.argument("folder", type=option.FOLDER, required=False)
@option.flag("--replace", "Replace an existing archive.", into="replaced")
@option.QUIET
@click.pass_obj
def restore_command(
    settings: Settings, backup: str, folder: Path | None, replaced: bool, quiet: bool
) -> None:
    """Restore an archive from BACKUP, the PLACE/NAME printed by `nwx backup`.

    It is restored to FOLDER, by default that of --engine. The copy is checked as `nwx
    check` does, then moved into place in one step. With --replace, stop imports first, and
    restart `nwx serve` afterwards. On a search server, the replaced indices are deleted
    first.
    """
    if folder is not None:
        settings = replace(settings, engine=str(folder))
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        archive.restore(backup, replace=replaced, progress=progress)
    if not quiet:
        click.echo(f"restored to {clean(archive.settings.engine)}")


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
                    _print(done[-1], quiet=quiet)
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


def _print(told: dict[str, Any], *, quiet: bool) -> None:
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
