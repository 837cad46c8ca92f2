"""Which files an archive's files need for their revisits, and which of these are missing."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from nwx.engine.base import Engine
from nwx.engine.required_files import stored_name, unmet_requirements
from nwx.errors import UsageError
from nwx.model import Capture, SourceFile

if TYPE_CHECKING:
    from nwx.warc.wacz import RequiredFile

_END = chr(0x10FFFF)
_LOOKED_AT = 100

StoredPlace = tuple[str, str]
"""The collection of a file, and the name of the stored file it is in."""


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A required file that was not imported, and the revisits of its users that do not play."""

    collection: str
    file: str
    required: "RequiredFile"
    revisits: int


def missing_files(engine: Engine) -> Iterator[MissingFile]:
    """Yield the files that stored WACZ files require and the archive lacks.

    Captures are read only if there are any. `revisits` counts those of the whole WACZ.
    """
    unmet: dict[StoredPlace, tuple[RequiredFile, ...]] = {}
    for (collection, name), required in unmet_requirements(engine.files()).items():
        unmet[collection, stored_name(name)] = required
    unplayed: Counter[StoredPlace] = Counter()
    if unmet:
        # Imported here: `nwx files` starts without what looks for missing resources.
        from nwx.quality.missing_originals import wanted_original

        for one in _revisits(engine, unmet):
            unplayed[_stored(one)] += wanted_original(engine, one) is not None
    for (collection, file), required in sorted(unmet.items()):
        for each in required:
            yield MissingFile(collection, file, each, unplayed[collection, file])


@dataclass(frozen=True, slots=True)
class NeededFile:
    """A file that others need; `path` is "" and `held` false if the archive lacks it."""

    collection: str
    file: str
    path: str
    size: int | None
    hash: str
    held: bool
    needed_by: str
    revisits: int


def closure(engine: Engine, names: Sequence[str]) -> list[NeededFile]:
    """Return the files that files of an archive need so that all their revisits play.

    `names` are of files in the ledger, of WACZ files, or paths. Raises UsageError on others.
    """
    files = engine.files()
    wave = _chosen(files, names)
    known, needed = set(wave), dict[StoredPlace, NeededFile]()
    paths = {(one.collection, stored_name(one.name)): one for one in reversed(files)}
    unmet = {(c, stored_name(n)): each for (c, n), each in unmet_requirements(files).items()}
    while wave:
        for file in wave:
            for one in unmet.get(file, ()):
                name, size = str(one["filename"]), one.get("size")
                told = None if size is None else int(size), str(one.get("hash", ""))
                found = NeededFile("", name, "", *told, False, file[1], 0)
                needed.setdefault(("", name), found)
        new: set[StoredPlace] = set()
        for revisit in _revisits(engine, wave):
            place = _original_place(engine, revisit, known | new)
            if place is None:
                continue
            new.add(place)
            at = paths.get(place)
            first = NeededFile(
                *(place[0], place[1], at.path if at else "", at.size if at else None),
                *("", at is not None, stored_name(revisit.source_file), 0),
            )
            before = needed.get(place, first)
            needed[place] = replace(before, revisits=before.revisits + 1)
        wave, known = new - known, known | new
    return [needed[key] for key in sorted(needed)]


def _chosen(files: Sequence[SourceFile], names: Sequence[str]) -> set[StoredPlace]:
    chosen = set()
    for name in names:
        found = {
            (one.collection, stored_name(one.name))
            for one in files
            if name in (one.name, stored_name(one.name), one.path)
        }
        if not found:
            raise UsageError(f"no file {name} was imported; `nwx files` lists them")
        chosen |= found
    return chosen


def _revisits(engine: Engine, files: Collection[StoredPlace]) -> Iterator[Capture]:
    captures = engine.captures("", _END)
    return (one for one in captures if one.record_type == "revisit" and _stored(one) in files)


def _stored(capture: Capture) -> StoredPlace:
    return capture.collection, stored_name(capture.source_file)


def _original_place(
    engine: Engine, revisit: Capture, known: Collection[StoredPlace]
) -> StoredPlace | None:
    """Return the file with the payload of a revisit, None if a known file has it, or none."""
    if not revisit.digest:
        return None
    held: list[StoredPlace] = []
    for key in (revisit.urlkey, ""):
        originals = islice(engine.captures_by_digest(revisit.digest, key), _LOOKED_AT)
        held += map(_stored, originals)
    return None if not held or any(one in known for one in held) else held[0]
