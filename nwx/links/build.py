"""Inverting links: building the inlinks of all URLs from documents, and checking them."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from nwx.bulk.arrays import is_new
from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress, batches, no_progress
from nwx.bulk.resources import processors
from nwx.bulk.whole_files import locked_folder
from nwx.engine.base import Engine
from nwx.engine.facet_store import StoredBuild
from nwx.engine.inlinks.counts import CellCounts, count_linked_cells
from nwx.engine.inlinks.inlink_index import (
    ID_BYTES,
    INLINKS_FORMAT,
    InlinkIndex,
    InlinkNotes,
    LinkingDocument,
    inlink_notes,
)
from nwx.engine.inlinks.table import SELF, InlinkTable, TargetRange, inlink_table
from nwx.errors import BlobError, EngineError, EngineVersionError, UrlError
from nwx.links.document_table import living
from nwx.links.draft import InlinkDraft
from nwx.links.inverted import InvertedLinks, write_loaded_part
from nwx.links.parts import CODED_KINDS, LinkPart, clean_anchor, found_parts, kind_name, write_parts
from nwx.values.urlkeys import urlkey

OpenEngine = Callable[[], Engine]
_WORK, _PARTS, _DRAFT = "work", "parts", "draft"
_AT_ONCE = 5_000
_WORTH_PROCESSES = 20_000
_LEAST_SHARE = 0.5
"""If a smaller share of the previous build's documents is unchanged, all are read again."""


@dataclass(frozen=True, slots=True)
class InlinkBuildOptions:
    """Options of a build.

    `workers` is the number of processes, None for the number of processors. `anew` reads all
    documents, not only changed ones. `inverted` has links that are loaded instead of reading their
    documents; the previous build is then not continued.
    """

    workers: int | None = None
    anew: bool = False
    inverted: InvertedLinks | None = None


@dataclass(frozen=True, slots=True)
class InlinkBuildReport:
    """Result of a build: what it read and kept, and the current totals.

    `documents` are all linking documents of the build, `read` the documents whose links it read,
    `loaded` those with links inverted before. `refused` links have no urlkey.
    """

    documents: int
    read: int
    loaded: int
    targets: int
    links: int
    refused: int
    bytes: int
    seconds: float


def invert_links(
    engine: Engine,
    open_engine: OpenEngine,
    options: InlinkBuildOptions,
    progress: ShowProgress = no_progress,
) -> InlinkBuildReport:
    """Build the inlinks of an archive, replacing the previous build atomically.

    Only documents that are new, or whose dates changed, are read. After an interruption, the next
    build continues with the documents already read. `open_engine` opens the same archive for
    reading, in other processes too. `progress` is called with the steps `loading`, `reading` and
    `counting`. Raises EngineBusyError if another process builds on this machine, or another build
    finished first; SourceError if inverted links cannot be read, or are not of the archive's
    documents.
    """
    began = time.monotonic()
    index = engine.inlink_index()
    with locked_folder(index.folder / _WORK, "inverts links") as folder:
        build = _Build(index, folder, options, progress)
        if options.inverted is not None:
            build.load(engine, options.inverted)
        build.read(open_engine)
        notes, stored = build.finish()
    return InlinkBuildReport(
        documents=notes.linking,
        read=build.documents_read,
        loaded=build.documents_loaded,
        targets=sum(one.targets for one in notes.ranges),
        links=sum(one.links for one in notes.ranges),
        refused=notes.refused,
        bytes=sum(stored.blobs.values()),
        seconds=time.monotonic() - began,
    )


class _Build:
    """A run of a build: reads changed documents, and publishes the result in an index."""

    def __init__(
        self,
        index: InlinkIndex,
        folder: Path,
        options: InlinkBuildOptions,
        progress: ShowProgress,
    ) -> None:
        self._index, self._folder = index, folder
        self._progress = progress
        self._workers = options.workers or processors()
        self.documents_read = self.documents_loaded = 0
        anew = options.anew or options.inverted is not None
        if anew:
            shutil.rmtree(folder / _PARTS, ignore_errors=True)
        (folder / _PARTS).mkdir(exist_ok=True)
        # Read the stamp first: later writes then make the build stale, and are detected.
        self._stamp = index.stamp()
        self._states = _states(index)
        self._base = None if anew else _usable_base(index, self._states)

    def load(self, engine: Engine, inverted: InvertedLinks) -> None:
        """Load the inverted links of the documents that are unchanged in the archive."""
        folder = self._folder / _PARTS
        part = write_loaded_part(folder, inverted, engine, self._states, self._progress)
        self.documents_loaded = len(part.table("documents"))

    def read(self, open_engine: OpenEngine) -> None:
        """Read the links of documents whose current state neither the base nor a part has."""
        known = [part.table("documents").select("id", "state") for part in self._parts()]
        if self._base is not None:
            known.append(living(self._base.documents).select("id", "state"))
        missing = self._states
        for found in known:
            missing = missing.join(found, on=["id", "state"], how="anti", maintain_order="left")
        self.documents_read = len(missing)
        work = [
            (open_engine, self._folder / _PARTS, ids, states)
            for ids, states in zip(
                batches(missing["id"].to_list(), _AT_ONCE),
                batches(missing["state"].to_list(), _AT_ONCE),
                strict=True,
            )
        ]
        sizes = [len(ids) for _, _, ids, _ in work]
        workers = self._workers if len(missing) > _WORTH_PROCESSES else 1
        with Pool(workers) as pool:
            for _ in pool.map_shown(_read_batch, work, self._progress, "reading", sizes):
                pass

    def _parts(self) -> list[LinkPart]:
        return found_parts(self._folder / _PARTS)

    def finish(self) -> tuple[InlinkNotes, StoredBuild]:
        """Write the build and make it the current one."""
        parts = self._parts()
        if self._base is not None and not parts and self._is_same(self._base):
            return self._kept(self._base)
        draft = InlinkDraft(self._folder / _DRAFT, self._base, _number(self._index))
        try:
            notes, stored = self._written(draft, parts)
        finally:
            draft.remove()  # also on a full disk; the parts are kept for the next build
        for part in parts:
            part.remove()
        return notes, stored

    def _written(
        self, draft: InlinkDraft, parts: Sequence[LinkPart]
    ) -> tuple[InlinkNotes, StoredBuild]:
        table = draft.write_documents(parts, self._states)
        ranges = draft.write_ranges(parts, table, self._workers, self._progress)
        notes = InlinkNotes(
            format=INLINKS_FORMAT,
            number=draft.number,
            stamp=self._stamp,
            built=datetime.now(UTC).isoformat(timespec="seconds"),
            cells=table.cells,
            kinds=CODED_KINDS,
            documents=draft.documents,
            linking=table.size,
            refused=int(table.arrays["refused"][table.arrays["alive"]].sum()),
            ranges=ranges,
        )
        notes = draft.write_anchors(notes)
        return notes, self._publish(notes, draft)

    def _is_same(self, base: InlinkTable) -> bool:
        """Return whether a build has exactly the current documents."""
        known = living(base.documents)
        there = known.join(self._states, on=["id", "state"], how="semi")
        return len(there) == len(known)

    def _kept(self, base: InlinkTable) -> tuple[InlinkNotes, StoredBuild]:
        """Return the previous build, stamped as current."""
        if base.notes.stamp == self._stamp:
            return base.notes, base.stored
        notes = replace(base.notes, stamp=self._stamp)
        stored = replace(base.stored, notes=notes.as_json())
        self._index.swap(stored, self._index.version())
        return notes, stored

    def _publish(self, notes: InlinkNotes, draft: InlinkDraft) -> StoredBuild:
        version, known = self._index.version(), self._index.blobs()
        stored = draft.stored(notes)
        for path in draft.made():
            self._index.put(path)
        self._index.swap(stored, version)
        self._index.delete(known - set(stored.blobs))
        return stored


def _usable_base(index: InlinkIndex, states: pl.DataFrame) -> InlinkTable | None:
    """Return the previous build, None if it cannot be extended or is largely outdated."""
    try:
        base = inlink_table(index)
    except (EngineVersionError, BlobError):
        return None
    if base is None:
        return None
    there = len(living(base.documents).join(states, on=["id", "state"], how="semi"))
    return base if there >= _LEAST_SHARE * len(base.documents["state"]) else None


def _number(index: InlinkIndex) -> int:
    try:
        before = inlink_notes(index)
    except EngineVersionError:
        return 1
    return before.number + 1 if before else 1


def _states(index: InlinkIndex) -> pl.DataFrame:
    """Return the current documents with their states, in the fastest order for reading."""
    frames = [pl.DataFrame(schema={"id": pl.Binary, "state": pl.UInt64})]
    for found in index.document_states():
        ids = [found.ids[begin : begin + ID_BYTES] for begin in range(0, len(found.ids), ID_BYTES)]
        frames.append(
            pl.DataFrame(
                {"id": ids, "state": found.states}, schema={"id": pl.Binary, "state": pl.UInt64}
            )
        )
    return pl.concat(frames)


def _read_batch(open_engine: OpenEngine, folder: Path, ids: list[bytes], states: list[int]) -> int:
    with open_engine() as engine:
        documents = engine.inlink_index().linking_documents(ids)
        return write_parts(folder, documents, dict(zip(ids, states, strict=True)))


InlinkProblem = tuple[str, str]
"""The id of an entry (`*` for none), and a description of the error."""

_CHECKED_AT_ONCE = 1_000


def check_inlinks(engine: Engine) -> Iterator[InlinkProblem]:
    """Yield the errors in the inlinks of an archive, nothing if it has no inlinks.

    All cells are recounted from the links. If nothing was written since links were inverted, the
    links of each document are counted too.
    """
    index = engine.inlink_index()
    try:
        table = inlink_table(index)
        if table is None:
            return
        for number in range(len(table.notes.ranges)):
            yield from _range_problems(table, table.range(number))
        if index.stamp() == table.notes.stamp:
            yield from _document_problems(index, table)
    except (EngineError, ValueError, IndexError) as error:
        yield "*", f"the inlinks cannot be read ({error}); run `nwx invert-links --anew`"


def _range_problems(table: InlinkTable, found: TargetRange) -> Iterator[InlinkProblem]:
    arrays = found.arrays
    counting = (arrays["flags"] & SELF) == 0
    target, document = found.targets()[counting], arrays["document"][counting].astype(np.int64)
    once = is_new(target) | is_new(document)
    counted = count_linked_cells(target[once], document[once], table.documents)
    stored = _stored(found)
    if len(stored.target) != len(counted.target):
        yield found.keys[0], f"{len(stored.target)} cells, but {len(counted.target)} are counted"
        return
    wrong = np.zeros(len(stored.target), dtype=bool)
    for one, other in zip(stored, counted, strict=True):
        wrong |= one != other
    for place in np.unique(stored.target[wrong]).tolist():
        yield found.keys[place], "the counts are not those of its links"


def _stored(found: TargetRange) -> CellCounts:
    arrays = found.arrays
    target = np.repeat(np.arange(len(found.keys)), np.diff(arrays["count_starts"]))
    columns = {name: arrays[f"count_{name}"] for name in CellCounts._fields[1:]}
    return CellCounts(target=target, **columns)


def _document_problems(index: InlinkIndex, table: InlinkTable) -> Iterator[InlinkProblem]:
    """Compare the documents of a build and their numbers of links with the current ones."""
    known = living(table.documents)
    links = np.zeros(len(table.documents["alive"]), dtype=np.int64)
    for number in range(len(table.notes.ranges)):
        links += np.bincount(table.range(number).arrays["document"], minlength=len(links))
    numbers = dict(zip(known["id"].to_list(), known["number"].to_list(), strict=True))
    read = 0
    for ids in batches(list(numbers), _CHECKED_AT_ONCE):
        for document in index.linking_documents(ids):
            read += 1
            expected, stored = _link_count(document), int(links[numbers[document.id]])
            if expected != stored:
                message = f"{expected} links, but {stored} in the inlinks"
                yield document.id.hex(), message
    present = sum(len(found.states) for found in index.document_states())
    if not read == len(numbers) == present:
        yield "*", f"{len(numbers)} documents, but the archive has {present}"


def _link_count(document: LinkingDocument) -> int:
    found = set()
    for url, text, kind in zip(document.links, document.texts, document.kinds, strict=True):
        try:
            key = urlkey(url)
            key.encode()
        except (UrlError, UnicodeEncodeError):
            continue
        found.add((key, clean_anchor(text), kind_name(kind)))
    return len(found)
