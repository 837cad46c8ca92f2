"""nwx backup and restore"""

from dataclasses import replace
from pathlib import Path

import click

from nwx.cli import option
from nwx.cli.output import clean, print_json, progress_bar
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings


@click.command("backup")
@click.argument("place")
@option.count("--keep", "N", "Remove all backups at PLACE but the N newest.")
@option.flag("--check", "Check the backup as `nwx check` does; keep none that is wrong.")
@option.JSON_REPORT
@click.pass_obj
def backup_command(
    settings: Settings, place: str, keep: int | None, check: bool, as_json: bool, quiet: bool
) -> None:
    """Copy the whole archive to PLACE, consistently, while others write to it.

    PLACE is a folder. The backup is a folder in it, named by the time (UTC), which
    is an archive itself: nwx --engine PLACE/NAME search finds what was there. Files that
    never change are hard links to those of the archive, or of the backup
    before; a folder on another disk survives the disk of the archive.

    Of an archive on a search server, PLACE is a snapshot repository that is
    registered there; the backup is some snapshots in it.
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
@option.flag("--replace", "Replace an archive that is there already.", into="replaced")
@option.QUIET
@click.pass_obj
def restore_command(
    settings: Settings, backup: str, folder: Path | None, replaced: bool, quiet: bool
) -> None:
    """Restore an archive from BACKUP, PLACE/NAME as `nwx backup` prints it.

    It becomes the archive in FOLDER, which is that of --engine if left out. The copy is
    checked as `nwx check` does, then takes its place in one step. With
    --replace end imports first, and start `nwx serve` again afterwards. A search
    server deletes what it replaces first.
    """
    if folder is not None:
        settings = replace(settings, engine=str(folder))
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        archive.restore(backup, replace=replaced, progress=progress)
    if not quiet:
        click.echo(f"restored to {clean(archive.settings.engine)}")
