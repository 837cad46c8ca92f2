"""Damage of what an engine stores, as `nwx check` reports it."""

from collections.abc import Iterator
from dataclasses import dataclass

from nwx.bulk.whole_files import file_checksum
from nwx.engine.facet_store import BlobStore
from nwx.engine.indices.declarations import INDICES
from nwx.errors import EngineError
from nwx.model import IndexName

DAMAGED = "damaged"
"""The kind of a file that cannot be relied on: its index is not compared with others."""

ROW = "row"
"""The kind of single entries that differ from what the engine stores of them elsewhere."""

UNCHECKED = "unchecked"
"""The kind of what has no checksum, which is no damage."""

RESTORE = "restore the archive from a copy, or import its files into a new one"
"""What helps where nothing can be made again."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is damaged, or could not be checked; `place` is a file, or an entry."""

    index: IndexName
    place: str
    message: str
    kind: str = DAMAGED


def blob_damage(store: BlobStore, index: IndexName) -> Iterator[Damage]:
    """Yield the damage to the current build of an index."""
    version = store.version()
    try:
        yield from _blob_damage(store, index)
    except (EngineError, OSError) as error:
        if store.version() == version:  # else another build has replaced it meanwhile
            yield Damage(
                index, str(store.folder), f"cannot be read ({error}); {INDICES[index].made_by}"
            )


def _blob_damage(store: BlobStore, index: IndexName) -> Iterator[Damage]:
    build, advice = store.current(), INDICES[index].made_by
    if build is None:
        if store.blobs():
            message = f"has files, but no finished build; {advice}"
            yield Damage(index, str(store.folder), message)
        return
    store.get(build.blobs)
    for blob, size in build.blobs.items():
        path = store.folder / blob
        expected = build.checksums.get(blob)
        if path.stat().st_size != size or expected not in (None, file_checksum(path)):
            message = f"is not as it was written (size or checksum); {advice}"
            yield Damage(index, str(path), message)
    if unknown := len(build.blobs.keys() - build.checksums.keys()):
        message = f"{unknown:,} files have no checksums, which older versions did not write"
        yield Damage(index, str(store.folder), message, UNCHECKED)
