"""nwx reshard"""

from typing import Any

import click

from nwx.cli.output import print_json
from nwx.cli.progress import progress_bar
from nwx.errors import UsageError
from nwx.model import IndexName
from nwx.settings import Settings

_INDICES = [
    index.value for index in IndexName if index not in (IndexName.FACETS, IndexName.INLINKS)
]
"""Those that a build makes anew get their shards then."""


@click.command("reshard")
@click.argument("index", type=click.Choice(_INDICES), metavar="INDEX")
@click.option(
    "--shards", type=click.IntRange(1), metavar="N", help="Shards of the index from now on."
)
@click.option("--undo", is_flag=True, help="Let INDEX be written to again after a killed reshard.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.pass_obj
def command(
    settings: Settings, index: str, shards: int | None, undo: bool, as_json: bool, quiet: bool
) -> None:
    """Give an index on a search server another number of shards.

    A multiple of the number that INDEX has is made by splitting its shards,
    any other number by copying its entries. Searches go on, nothing can be
    written to INDEX meanwhile. After a reshard that was killed, run it again.
    """
    if (shards is None) != undo:
        raise UsageError("name the number of shards (--shards N), or --undo")
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.open import open_engine

    name = IndexName(index)
    done: dict[str, Any] = {"index": index, "shards": shards}
    with open_engine(settings) as engine, progress_bar(quiet=quiet or as_json) as progress:
        if shards is None:
            engine.shards().undo_reshard(name)
            done |= {"how": "undone", "shards": engine.shards().health()[name].shards}
        else:
            done["how"] = engine.shards().reshard(name, shards, progress)
    if as_json:
        print_json(done)
    elif not quiet:
        click.echo(f"{index} has {done['shards']} shards ({done['how']})")
