"""What an archive holds: the sizes of its indices, their shards, and its files."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

from nwx.bulk.progress import ShowProgress
from nwx.engine.base import Engine
from nwx.engine.capabilities import Claim, Shards
from nwx.errors import EngineError
from nwx.model import MAIN_DATES, UNREADABLE, IndexName, SourceFile


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


class ImportedFile(NamedTuple):
    """A file, and the claim of the importer that has it now."""

    file: SourceFile
    claim: Claim | None

    @property
    def state(self) -> str:
        """How far it is, in words."""
        file = self.file
        if self.claim and not file.finished:
            host, pid = (*self.claim.holder.split("/"), "")[:2]
            return f"at {file.done_to}, importing on {host} (process {pid})"
        if file.counts.get(UNREADABLE):
            return "unreadable"
        return "done" if file.finished else f"stopped at {file.done_to}"


def imported_files(engine: Engine) -> list[ImportedFile]:
    """Return the files of the ledger, and those of which nothing was imported yet."""
    shared = engine.claims()
    # An entry of no collection is no file: an import that must be alone.
    held = [one for one in shared.held() if one.collection] if shared else []
    files: dict[tuple[Any, ...], SourceFile] = {
        (one.collection, one.name): SourceFile(one.collection, one.name, "", None, "")
        for one in held
    }
    files |= {(file.collection, file.name): file for file in engine.files()}
    claims = {(one.collection, one.name): one.claim for one in held}
    return [ImportedFile(files[key], claims.get(key)) for key in sorted(files)]
