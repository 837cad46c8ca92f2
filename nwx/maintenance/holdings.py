"""The indices, shards and files of an archive, and files that revisits in others need."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from nwx.bulk.progress import ShowProgress
from nwx.engine.base import Engine
from nwx.engine.capabilities import Claim, Shards
from nwx.errors import EngineError, SourceError, UsageError
from nwx.model import MAIN_DATES, UNREADABLE, Capture, IndexName, SourceFile

if TYPE_CHECKING:
    from nwx.warc.wacz import RequiredFile


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
    """Return the health of the shards by index name, empty for a folder."""
    return {
        index: {"status": found.status, **asdict(found)} for index, found in shards.health().items()
    }


def sizes_and_health(
    shards: Shards, seen: Callable[[], Engine]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the sizes of an archive as a viewer sees it, and the health of its shards.

    All sizes are unknown if lost shards keep them from being measured.
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
    """Change the number of shards of an index; None makes it writable after a killed attempt."""
    if wanted is None:
        shards.undo_reshard(index)
        return {"index": index.value, "shards": shards.health()[index].shards, "how": "undone"}
    how = shards.reshard(index, wanted, progress)
    return {"index": index.value, "shards": wanted, "how": how}


class ImportedFile(NamedTuple):
    """A file, and the claim of the importer that reads it now."""

    file: SourceFile
    claim: Claim | None

    @property
    def state(self) -> str:
        """The progress of its import, as text."""
        file = self.file
        if self.claim and not file.finished:
            host, pid = (*self.claim.holder.split("/"), "")[:2]
            return f"at {file.done_to}, importing on {host} (process {pid})"
        if file.counts.get(UNREADABLE):
            return "unreadable"
        return "done" if file.finished else f"stopped at {file.done_to}"


def imported_files(engine: Engine) -> list[ImportedFile]:
    """Return the files of the ledger, and claimed ones of which nothing was imported yet."""
    shared = engine.claims()
    # An entry without a collection is not a file but an import that must be alone.
    held = [one for one in shared.held() if one.collection] if shared else []
    files: dict[tuple[Any, ...], SourceFile] = {
        (one.collection, one.name): SourceFile(one.collection, one.name, "", None, "")
        for one in held
    }
    files |= {(file.collection, file.name): file for file in engine.files()}
    claims = {(one.collection, one.name): one.claim for one in held}
    return [ImportedFile(files[key], claims.get(key)) for key in sorted(files)]


_END = chr(0x10FFFF)
_LOOKED_AT = 100
_NAMED = 3
_REVISIT = "revisit"
_MEMBER = ".wacz#"
_STEP = 1 << 20

StoredPlace = tuple[str, str]
"""The collection of a file, and the name of the stored file it is in."""


def stored_name(name: str) -> str:
    """Return the name of the WACZ that a WARC of this ledger name is in, else the name."""
    head, found, _ = name.partition(_MEMBER)
    return f"{head}.wacz" if found else name


def stored_place(one: SourceFile | Capture) -> StoredPlace:
    """Return the stored file that a file of the ledger, or the file of a capture, is in."""
    name = one.name if isinstance(one, SourceFile) else one.source_file
    return one.collection, stored_name(name)


def unmet_requirements(
    files: Iterable[SourceFile],
) -> Mapping[StoredPlace, tuple["RequiredFile", ...]]:
    """Return the required files missing among `files`, by the stored file that requires them."""
    known = list(files)
    held = {stored_name(file.name) for file in known}
    lacking = {
        stored_place(file): tuple(
            one for one in file.requires if str(one["filename"]).rpartition("/")[2] not in held
        )
        for file in known
        if file.requires
    }
    return {key: unmet for key, unmet in lacking.items() if unmet}


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A required file that was not imported, and the revisits that it keeps from playing.

    `file` requires it. `revisits` is their number, `first` has the URLs and timestamps of some.
    """

    collection: str
    file: str
    required: "RequiredFile"
    revisits: int
    first: tuple[str, ...]


def missing_files(engine: Engine) -> Iterator[MissingFile]:
    """Yield the files that stored WACZ files require and the archive lacks.

    Captures are read only if there are any. `revisits` counts those of the whole WACZ.
    """
    files = engine.files()
    unmet = unmet_requirements(files)
    unplayed = defaultdict[StoredPlace, list[str]](list)
    if unmet:
        # Imported here: `nwx files` starts faster without the search for missing resources.
        from nwx.quality.missing_originals import wanted_original

        for one in _revisits(engine, files, unmet):
            if wanted_original(engine, one):
                unplayed[stored_place(one)].append(f"{one.timestamp} {one.url}")
    for place, required in sorted(unmet.items()):
        found = unplayed[place]
        for each in required:
            yield MissingFile(*place, each, len(found), tuple(found[:_NAMED]))


@dataclass(frozen=True, slots=True)
class NeededFile:
    """A file that others need; `path` is "" and `held` false if the archive lacks it.

    `revisits` counts those that need it. `file` is "" for revisits whose originals are in no known
    file, if their own file requires no missing one.
    """

    collection: str
    file: str
    path: str
    size: int | None
    hash: str
    held: bool
    needed_by: str
    revisits: int = 0


def closure(engine: Engine, names: Sequence[str]) -> list[NeededFile]:
    """Return the files that some files of an archive need for all their revisits to play.

    `names` are of files in the ledger, of WACZ files, or paths. Raises UsageError on others.
    """
    return _Closure(engine).needed_by(names)


class _Closure:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._files = engine.files()
        self._at = {stored_place(one): one for one in reversed(self._files)}
        self._unmet = unmet_requirements(self._files)
        self._needed: dict[StoredPlace, NeededFile] = {}

    def needed_by(self, names: Sequence[str]) -> list[NeededFile]:
        chosen = _chosen(self._files, names)
        known, wave = set(chosen), chosen
        while wave:
            for user in wave:
                for one in self._unmet.get(user, ()):
                    self._need(("", str(one["filename"])), user, one)
            for revisit in _revisits(self._engine, self._files, wave):
                for place in self._places(revisit, known):
                    if place not in chosen:
                        self._need(place, stored_place(revisit), {}, 1)
            wave = {place for place in self._needed if place in self._at} - known
            known |= wave
        return [self._needed[key] for key in sorted(self._needed)]

    def _need(
        self, place: StoredPlace, user: StoredPlace, told: Mapping[str, Any], revisits: int = 0
    ) -> None:
        at, size = self._at.get(place), told.get("size")
        if at is not None:
            size = at.size
        path, number = at.path if at else "", None if size is None else int(size)
        first = NeededFile(*place, path, number, str(told.get("hash", "")), at is not None, user[1])
        before = self._needed.get(place, first)
        self._needed[place] = replace(before, revisits=before.revisits + revisits)

    def _places(self, revisit: Capture, known: Collection[StoredPlace]) -> Sequence[StoredPlace]:
        """Return the file with the payload of a revisit, a known one if possible.

        For a lost payload, the files that its own file requires, else a file without a name;
        nothing for a revisit that needs none.
        """
        from nwx.quality.missing_originals import wanted_original

        originals = islice(self._engine.originals_of(revisit), _LOOKED_AT)
        held, own = list(map(stored_place, originals)), stored_place(revisit)
        if own in held:
            return ()
        if held:
            return [next((one for one in held if one in known or one in self._needed), held[0])]
        if wanted_original(self._engine, revisit) is None:
            return ()
        required = self._unmet.get(own, ())
        return [("", str(one["filename"])) for one in required] or [("", "")]


def _chosen(files: Sequence[SourceFile], names: Sequence[str]) -> set[StoredPlace]:
    chosen = set()
    for name in names:
        path = os.path.abspath(name)  # noqa: PTH100 - as imports name it
        found = {
            stored_place(one)
            for one in files
            if name in (one.name, stored_name(one.name)) or one.path in (name, path)
        }
        if not found:
            raise UsageError(f"no file {name} was imported; `nwx files` lists them")
        chosen |= found
    return chosen


def _revisits(
    engine: Engine, files: Iterable[SourceFile], users: Collection[StoredPlace]
) -> Iterator[Capture]:
    """Yield the revisits of files; no capture is read if the ledger counts none of them."""
    if any(one.counts.get(_REVISIT) for one in files if stored_place(one) in users):
        for one in engine.captures("", _END):
            if one.record_type == _REVISIT and stored_place(one) in users:
                yield one


def required_files(
    engine: Engine, lone_revisits: Iterable[Capture], is_packed: Callable[[Capture], bool]
) -> Iterator[dict[str, Any]]:
    """Yield the files with the payloads of revisits, in the form of `relation.requires` of a WACZ.

    None for a revisit whose payload is packed. For a payload that the archive lacks too, the
    requirements of the revisit's own file.
    """
    files = {(file.collection, file.name): file for file in engine.files()}
    unmet = unmet_requirements(files.values())
    seen: set[str] = set()
    for revisit in lone_revisits:
        originals = list(islice(engine.originals_of(revisit), _LOOKED_AT))
        if any(map(is_packed, originals)):
            continue
        original = originals[0] if originals else None
        found: Iterable[Any] = unmet.get(stored_place(revisit), ())
        if original is not None:
            collection, name = stored_place(original)
            found = [{"filename": name, "crawlId": collection}]
        for one in found:
            if one["filename"] not in seen:
                seen.add(one["filename"])
                file = original and files.get((original.collection, original.source_file))
                yield dict(one) | (_described(file.path) if file else {})


def required_file(engine: Engine, collection: str, name: str) -> dict[str, Any] | None:
    """Return a stored file in the form of `relation.requires`, None if it was not imported."""
    for file in engine.files():
        if (file.collection, stored_name(file.name)) == (collection, name):
            return {"filename": name} | _described(file.path)
    return None


def _described(path: str) -> dict[str, Any]:
    """Return the hash and size of a file, {} if it cannot be read."""
    # Imported here: lists of files need no readers of archive files.
    from nwx.warc.sources import open_path

    digest, size = hashlib.sha256(), 0
    try:
        with open_path(path) as stream:
            while block := stream.read(_STEP):
                digest.update(block)
                size += len(block)
    except (OSError, SourceError):
        return {}
    return {"hash": f"sha256:{digest.hexdigest()}", "size": size}
