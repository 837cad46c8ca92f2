"""nwx stats, files, dump and reshard"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, json_text, print_json, size_words
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import open_for_reading
from nwx.engine.ledger import Claim, ClaimedFile
from nwx.errors import EngineError, UsageError
from nwx.model import UNREADABLE, IndexName, SourceFile
from nwx.settings import Settings

_Health = Mapping[str, Mapping[str, Any]]


@click.command("stats")
@option.JSON
@click.pass_obj
def stats_command(settings: Settings, as_json: bool) -> int:
    """Show the size of each index, and on a search server how its shards do.

    A shard without a copy on any node is lost: the index is red, and its
    entries are not counted. It is yellow where only further copies (replicas)
    are missing. The exit code is 1 if a shard is lost.
    """
    from nwx.checks.sizes import measure_shards
    from nwx.engine.open import open_engine

    with open_engine(settings, read_only=True) as engine:
        health = measure_shards(engine.shards())
    sizes = _sizes(settings, is_whole=not any(one["lost"] for one in health.values()))
    if as_json:
        print_json(sizes | {"shards": health})
    else:
        _print(sizes, health)
    lost = {name: one["lost"] for name, one in health.items() if one["lost"]}
    for name, numbers in lost.items():
        shards = counted(len(numbers), "shard")
        words = f"nwx: {shards} of {name} lost ({', '.join(map(str, numbers))})"
        click.echo(f"{words}; start the nodes that held them", err=True)
    return 1 if lost else 0


def _sizes(settings: Settings, *, is_whole: bool) -> dict[str, Any]:
    """Return the sizes; none of them where what readers may see lies in lost shards."""
    from nwx.checks.sizes import measure, unknown_sizes

    try:
        with open_for_reading(settings) as engine:
            return measure(engine)
    except EngineError:
        if is_whole:
            raise
        return unknown_sizes()


def _print(sizes: dict[str, Any], health: _Health) -> None:
    from rich.table import Table

    from nwx.cli.terminal import console

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("index")
    table.add_column("entries", justify="right")
    table.add_column("size", justify="right")
    if health:
        for column in ("health", "shards", "replicas", "missing"):
            table.add_column(column, justify="right" if column != "health" else "left")
    shown = {*IndexName, *(f"{IndexName.DATES}@{name}" for name in sizes["attached"])}
    for index in IndexName:
        size, shards = size_words(sizes["bytes"][index]), _shards(health.get(index.value))
        table.add_row(index.value, _number(sizes[index]), size, *shards)
        if index is IndexName.DATES:
            for name, one in sizes["attached"].items():
                shards = _shards(health.get(f"{index}@{name}"))
                size = size_words(one["bytes"])
                table.add_row(f"  {clean(name)}", _number(one["entries"]), size, *shards)
    for name in health:
        if name not in shown:
            table.add_row(clean(name), "", "", *_shards(health[name]))
    console().print(table)


def _number(entries: int | None) -> str:
    return "" if entries is None else f"{entries:,}"


def _shards(found: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the cells of an index about its shards."""
    if found is None:
        return ()
    missing = found["missing_copies"]
    numbers = found["shards"], found["replicas"]
    return (found["status"], *map(str, numbers), str(missing) if missing else "")


_Claims = Mapping[tuple[str, str], Claim]


@click.command("files")
@option.flag("--json", "Print JSON lines.", into="as_json")
@click.pass_obj
def files_command(settings: Settings, as_json: bool) -> None:
    """List the imported files, those being imported, and those that could not be read.

    On a server the files that importers have now are shown with the host and
    the process of each.
    """

    with open_for_reading(settings) as engine:
        shared = engine.claims()
        # An entry of no collection is no file: an import that must be alone.
        held = [one for one in shared.held() if one.collection] if shared else []
        found = _with_begun(engine.files(), held)
    claims = {(one.collection, one.name): one.claim for one in held if one.claim}
    if as_json:
        for file in found:
            claim = claims.get((file.collection, file.name))
            click.echo(json_text(asdict(file) | {"claim": asdict(claim) if claim else None}))
        return
    _print_files(found, claims)


def _with_begun(files: Sequence[SourceFile], held: Sequence[ClaimedFile]) -> list[SourceFile]:
    """Return the files, and those that importers have but nothing was imported of yet."""
    known = {(file.collection, file.name) for file in files}
    begun = [
        SourceFile(one.collection, one.name, "", None, "")
        for one in held
        if (one.collection, one.name) not in known
    ]
    return sorted([*files, *begun], key=lambda file: (file.collection, file.name))


def _print_files(found: Sequence[SourceFile], claims: _Claims) -> None:
    from rich.table import Table
    from rich.text import Text

    from nwx.cli.terminal import OneLine, console

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("collection")
    table.add_column("file")
    for heading in ("size", "captures", "errors"):
        table.add_column(heading, justify="right")
    table.add_column("state", no_wrap=True)
    for file in found:
        claim = claims.get((file.collection, file.name))
        table.add_row(
            Text(clean(file.collection)),
            OneLine(file.name),
            size_words(file.size),
            f"{file.counts.get('captures', 0):,}",
            f"{file.counts.get('errors', 0):,}",
            Text(clean(_state(file, claim))),
        )
    console().print(table)


def _state(file: SourceFile, claim: Claim | None) -> str:
    if claim and not file.finished:
        host, pid = (*claim.holder.split("/"), "")[:2]
        return f"at {file.done_to}, importing on {host} (process {pid})"
    if file.counts.get(UNREADABLE):
        return "unreadable"
    return "done" if file.finished else f"stopped at {file.done_to}"


@click.command("dump")
@click.argument("index", type=click.Choice([name.value for name in IndexName]))
@click.pass_obj
def dump_command(settings: Settings, index: str) -> None:
    """Write an index as JSON lines, ordered by id."""

    with open_for_reading(settings) as engine:
        for entry in engine.scan(IndexName(index)):
            click.echo(json_text(dict(entry)))


_INDICES = [
    index.value for index in IndexName if index not in (IndexName.FACETS, IndexName.INLINKS)
]
"""Those that a build makes anew get their shards then."""


@click.command("reshard")
@click.argument("index", type=click.Choice(_INDICES), metavar="INDEX")
@option.count("--shards", "N", "Shards of the index from now on.")
@option.flag("--undo", "Let INDEX be written to again after a killed reshard.")
@option.JSON
@option.NO_PROGRESS
@click.pass_obj
def reshard_command(
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
