"""nwx closure"""

from dataclasses import asdict

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, print_json
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings


@click.command("closure")
@click.argument("files", nargs=-1, required=True)
@option.JSON
@click.pass_obj
def command(settings: Settings, files: tuple[str, ...], as_json: bool) -> int:
    """List all files that FILES need so that their revisits play.

    FILES are names or paths of imported files. The exit code is 1 if a file
    that is needed was not imported.
    """
    with opened_archive(settings) as archive:
        found = archive.closure(files)
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        for one in found:
            missing = "" if one.held else "missing, "
            place = one.path or one.file or "originals that no file holds"
            revisits = counted(one.revisits, "revisit")
            click.echo(clean(f"{place}  {missing}{revisits} of {one.needed_by}"))
    return 0 if all(one.held for one in found) else 1
