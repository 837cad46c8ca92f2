"""The sizes of the indices of an archive, and how their shards do."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from nwx.bulk.progress import ShowProgress
from nwx.engine.base import Engine
from nwx.engine.shards import Shards
from nwx.errors import EngineError
from nwx.model import MAIN_DATES, IndexName


def measure(engine: Engine) -> dict[str, Any]:
    """Return the number of entries of each index by name, and their sizes in `bytes`.

    `attached` has the same for the dates indices joined with the main one. Bytes are None if the
    engine cannot report them, entries if shards are lost.
    """
    stats = engine.stats()
    attached = {
        one.name: {"entries": one.entries, "dates": one.dates, "bytes": one.bytes}
        for one in engine.dates_indices()
        if one.attached and one.name != MAIN_DATES
    }
    entries: dict[str, Any] = {index.value: found.entries for index, found in stats.items()}
    sizes = {index.value: found.bytes for index, found in stats.items()}
    return {**entries, "bytes": sizes, "attached": attached}


def unknown_sizes() -> dict[str, Any]:
    """Return the same structure as `measure`, with every value unknown."""
    unknown = dict.fromkeys(index.value for index in IndexName)
    return {**unknown, "bytes": dict(unknown), "attached": {}}


def measure_shards(shards: Shards) -> dict[str, dict[str, Any]]:
    """Return how the shards of each index do, by its name; nothing of a folder."""
    return {
        index: {"status": found.status, **asdict(found)} for index, found in shards.health().items()
    }


def sizes_and_health(
    shards: Shards, seen: Callable[[], Engine]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the sizes of an archive as a viewer sees it, and how its shards do.

    No size is known if what the viewer may see lies in lost shards.
    """
    health = measure_shards(shards)
    try:
        return measure(seen()), health
    except EngineError:
        if not any(one["lost"] for one in health.values()):
            raise
        return unknown_sizes(), health


def resharded(
    shards: Shards, index: IndexName, wanted: int | None, progress: ShowProgress
) -> dict[str, Any]:
    """Give an index a number of shards, or let it be written to after a killed attempt."""
    if wanted is None:
        shards.undo_reshard(index)
        return {"index": index.value, "shards": shards.health()[index].shards, "how": "undone"}
    how = shards.reshard(index, wanted, progress)
    return {"index": index.value, "shards": wanted, "how": how}
