"""nwx cdx-load"""

from typing import TYPE_CHECKING

import click

from nwx.cli.bulk_option import bulk_loading, bulk_option
from nwx.cli.output import clean, counted, print_json
from nwx.errors import CdxError, UsageError
from nwx.model import DEFAULT_COLLECTION
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.cdxserver.loaded_lines import Loaded
    from nwx.engine.base import Engine


@click.command("cdx-load")
@click.argument("files", nargs=-1)
@click.option(
    "--collection",
    default=DEFAULT_COLLECTION,
    show_default=True,
    metavar="NAME",
    help="Collection of the captures.",
)
@bulk_option
@click.option("--strict", is_flag=True, help="Load nothing from a file that has a bad line.")
@click.option(
    "--at-once",
    type=click.IntRange(1),
    metavar="N",
    help="Store N captures at a time.  [default: all of a file]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
@click.pass_obj
def command(
    settings: Settings,
    files: tuple[str, ...],
    collection: str,
    bulk: bool,
    strict: bool,
    at_once: int | None,
    as_json: bool,
) -> int:
    """Load captures from CDX and CDXJ files, without text.

    FILES may be compressed; - is standard input. The captures are available to
    the CDX server, but not to searches. Captures that the archive already holds
    are not changed.

    Into a folder, all captures of a file become visible in one moment, and none
    if the load is interrupted; until then they lie in a log of about the size that
    they take. --at-once keeps it small: captures become visible N at a time, and
    after an interruption the same command loads the rest.

    The exit code is 1 if nothing could be read.
    """
    if not files:
        raise UsageError("there is nothing to load; name CDX files")
    if strict and at_once:
        raise UsageError("--strict loads all of a file or nothing; leave --at-once out")
    # Imported here: whoever asks for help need not wait for it.
    from nwx.cdxserver.loaded_lines import Loaded
    from nwx.engine.open import open_engine

    total = Loaded()
    with bulk_loading(settings, wanted=bulk), open_engine(settings) as engine:
        for name in files:
            done = _load(engine, name, collection, strict=strict, at_once=at_once or 0)
            for error in done.errors:
                click.echo(clean(f"nwx: {error.file} line {error.line}: {error}"), err=True)
            total.lines += done.lines
            total.changed += done.changed
            total.not_captures += done.not_captures
            total.bad_lines += done.bad_lines
            total.purged += done.purged
    _print(total, as_json=as_json)
    return 0 if total.lines or total.purged or not total.bad_lines else 1


def _print(total: "Loaded", *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "captures": total.lines,
                "new": total.changed,
                "not_captures": total.not_captures,
                "bad_lines": total.bad_lines,
                "purged": total.purged,
            }
        )
        return
    others = f"{total.not_captures:,} of records that are no captures, "
    purged = f"{total.purged:,} purged and left out, "
    click.echo(
        f"{counted(total.lines, 'capture')}, {total.changed:,} of them new,"
        f" {others if total.not_captures else ''}{purged if total.purged else ''}"
        f"{counted(total.bad_lines, 'bad line')}"
    )


def _load(engine: "Engine", name: str, collection: str, *, strict: bool, at_once: int) -> "Loaded":
    from nwx.cdx.files import open_cdx, whole_line_blocks
    from nwx.cdxserver.loaded_lines import load_lines

    try:
        with open_cdx(name) as stream:
            blocks = whole_line_blocks(stream)
            return load_lines(
                engine, blocks, collection, skip_bad=not strict, name=name, at_once=at_once
            )
    except CdxError as error:
        raise CdxError(
            f"{name} line {error.line}: {error}; nothing of this file was loaded", name, error.line
        ) from error
