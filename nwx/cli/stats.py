"""nwx stats"""

from collections.abc import Mapping
from typing import Any

import click

from nwx.cli.output import clean, counted, print_json, size_words
from nwx.cli.restricted import open_for_reading
from nwx.errors import EngineError
from nwx.model import IndexName
from nwx.settings import Settings

_Health = Mapping[str, Mapping[str, Any]]


@click.command("stats")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(settings: Settings, as_json: bool) -> int:
    """Show the size of each index, and on a search server how its shards do.

    A shard without a copy on any node is lost: the index is red, and its
    entries are not counted. It is yellow where only further copies (replicas)
    are missing. The exit code is 1 if a shard is lost.
    """
    from nwx.checks.agreement import measure_shards
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
    from nwx.checks.agreement import measure, unknown_sizes

    try:
        with open_for_reading(settings) as engine:
            return measure(engine)
    except EngineError:
        if is_whole:
            raise
        return unknown_sizes()


def _print(sizes: dict[str, Any], health: _Health) -> None:
    from rich.table import Table

    from nwx.cli.tables.terminal_console import console

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
