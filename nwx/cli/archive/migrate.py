"""nwx migrate"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, error_line, print_json, progress_bar, stop_signals, warn
from nwx.cli.restricted import command_user, opened_archive
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx import Archive
    from nwx.importing.pywb_collections import PywbCollection

_SHOWN = 20


@click.group("migrate")
def command() -> None:
    """Take over the collections, archive files and rules of another service."""


@command.command("pywb")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@option.flag("--dry-run", "Only list what would be taken over.")
@option.JSON_REPORT
@click.pass_obj
def pywb(settings: Settings, folder: Path, dry_run: bool, as_json: bool, quiet: bool) -> int:
    """Import the collections of pywb in FOLDER, as they lie, with their access rules.

    FOLDER is the one with `collections` and `config.yaml`. Rules come first, so that nothing
    is shown that pywb hides; each holds for its collection. Archive files stay where
    they are. If interrupted, run the same command again to resume. The exit code is
    1 where something was not taken over, which is listed.
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
        warn("stopped; run the same command again to go on")
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
    """Add the rules of a collection, import its files, and return what was done."""
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
