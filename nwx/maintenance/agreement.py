"""Checks that the indices of an archive agree with each other, the ledger and the files."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress, batches, no_progress
from nwx.engine.access.access_index import stopped_purges
from nwx.engine.base import Engine
from nwx.engine.capabilities import BULK_LOADING, DAMAGED, ROW, UNCHECKED, Shards
from nwx.engine.entries import capture_from_entry, document_capture, file_id
from nwx.engine.indices.declarations import IndexKind, indices_of
from nwx.engine.indices.digest_index import pair_faults
from nwx.errors import EngineError, EngineUnavailableError
from nwx.facets.checks import check_facets
from nwx.keys import capture_id, capture_key, document_id, document_key, makes_document, precedence
from nwx.links.build import check_inlinks
from nwx.maintenance.holdings import missing_files
from nwx.model import UNDEDUPLICATED, Capture, Collapse, IndexName, ReadError, SourceFile
from nwx.quality.scores import check_scores
from nwx.query.question import Question
from nwx.steering.specifications.specification_store import check_crawls
from nwx.warc.reader import ArchiveReader
from nwx.warc.sources import stored_source

RecordProblem = tuple[str, str]
"""The id of a capture or file, and the message."""

_COMPARED = (
    *("record_type", "url", "urlkey", "timestamp", "digest"),
    *("status_code", "content_type", "record_length"),
)
_PUT_BACK = "put the file back, or import it again from its new place"


def check_records(engine: Engine, progress: ShowProgress) -> Iterator[RecordProblem]:
    """Yield captures of imported files that differ from their records, and damaged files.

    Reads all imported files. Captures of other files are from CDX lines, and are not checked.
    """
    files = {(file.collection, file.name): file for file in engine.files()}
    done, total = 0, engine.count(IndexName.CAPTURES)
    captures = map(capture_from_entry, engine.scan(IndexName.CAPTURES))
    for key, group in groupby(captures, key=lambda one: (one.collection, one.source_file)):
        held = {one.source_file_offset: one for one in group}
        if key in files:
            yield from _file_problems(files[key], held)
        done += len(held)
        progress(WorkProgress("reading records", done, max(done, total)))


def _file_problems(file: SourceFile, held: Mapping[int, Capture]) -> Iterator[RecordProblem]:
    errors, remaining, late = [], dict(held), 0
    for item in ArchiveReader(stored_source(file), file.collection):
        if isinstance(item, ReadError):
            errors.append(item)
            continue
        late += file.size is not None and item.capture.source_file_offset >= file.size
        capture = remaining.pop(item.capture.source_file_offset, None)
        if capture and (different := ", another ".join(_differences(capture, item.capture))):
            id = capture_id(file.collection, file.name, capture.source_file_offset)
            yield id, f"its record in {file.path} has another {different}"
    id = file_id(file.collection, file.name)
    if len(errors) > file.counts.get("errors", 0):
        places = "; ".join(f"{one.message} (at {one.offset})" for one in errors[:3])
        yield id, f"{file.path} has {len(errors)} errors now: {places}; {_PUT_BACK}"
    elif remaining:
        places = ", ".join(map(str, list(remaining)[:3]))
        yield id, f"{file.path} has no capture at {places}: {len(remaining)} are missing"
    if late:
        yield id, f"{file.path} has captures appended after its import: {late}"


def _differences(held: Capture, read: Capture) -> Iterator[str]:
    for name in _COMPARED:
        expected, found = getattr(held, name), getattr(read, name)
        if expected != found:
            yield f"{name} ({found!r}, the archive has {expected!r})"


_AT_ONCE = 1_000
_MOST_HELD = 10_000

CHANGED = "changed"
"""The kind of findings made while the archive was written to."""

SHARD = "shard"
"""The kind of a lost shard, without which nothing can be compared."""

OLDER_WORDS = "words"
"""The kind of an index whose texts were analysed by an older nwx."""

OLDER_FORM = "form"
"""The kind of an index that an older nwx made larger than necessary."""

REQUIRED = "required"
"""The kind of a file that others require and that was not imported."""

NO_FAULTS = frozenset((UNCHECKED, OLDER_WORDS, OLDER_FORM, REQUIRED))
"""The kinds of findings that are not faults."""

_OLDER_FORMS = {
    IndexName.DOCUMENTS: (
        OLDER_WORDS,
        "was indexed by an older nwx (`school` does not find `school's`); run `nwx upgrade`",
    ),
    IndexName.CAPTURES: (
        OLDER_FORM,
        "it was made by an older nwx, three times as large as needed; run `nwx upgrade`",
    ),
}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An inconsistency; `kind` is one word for the cause."""

    kind: str
    index: str
    id: str
    message: str


def check(
    engine: Engine, progress: ShowProgress = no_progress, *, deep: bool = False
) -> Iterator[Disagreement]:
    """Yield the inconsistencies of an archive.

    Reads each index once, in batches, with constant memory; with `deep` the records of all captures
    too. Differences found while the archive is being written to count as one finding of the kind
    `changed`. If shards are lost, nothing else is checked; of an index with damaged files, only
    these are reported.
    """
    shards = list(check_shards(engine.shards()))
    yield from shards
    if any(one.kind == SHARD for one in shards):
        return
    before = _state(engine)
    findings = _findings(engine, progress, deep=deep)
    held = list(islice(findings, _MOST_HELD))
    rest = next(findings, None)
    if rest is not None:  # too many to come from an import alone
        yield from (*held, rest)
        yield from findings
    elif not NO_FAULTS.issuperset(one.kind for one in held) and _state(engine) != before:
        message = (
            f"the archive was written to during the check, which may be why {len(held):,} entries"
            " do not agree; check again when no import is running"
        )
        yield _wrong(CHANGED, IndexName.FILES, "*", message)
    else:
        yield from held


def check_shards(shards: Shards) -> Iterator[Disagreement]:
    """Yield the lost shards, older words, and the remains of killed commands."""
    health = shards.health()
    for index, found in health.items():
        for number in found.lost:
            message = (
                "no node holds this shard: start the node that held it, or restore the index"
                " from a snapshot"
            )
            yield _wrong(SHARD, index, f"{found.name}[{number}]", message)
        if found.blocked:
            message = "it blocks writes; `nwx reshard` is running, or was killed"
            yield _wrong("blocked", index, found.name, message)
    if BULK_LOADING in health and health[BULK_LOADING].lost:
        return
    for older, name in shards.older_forms().items():
        kind, message = _OLDER_FORMS[older]
        yield _wrong(kind, older, name, message)
    for loader in shards.loaders():
        message = (
            "bulk loading is on, without replicas and refresh; if it was killed, restore"
            " the settings with `nwx check --end-loading`"
        )
        yield _wrong("loading", IndexName.FILES, loader, message)


def _findings(engine: Engine, progress: ShowProgress, *, deep: bool) -> Iterator[Disagreement]:
    damaged = set()
    for one in engine.damage():
        if one.kind == DAMAGED or one.index is IndexName.FILES:
            damaged.add(one.index)
        yield _wrong(one.kind, one.index, one.place, one.message)
    if damaged & set(indices_of(IndexKind.IMPORTED)):
        return  # all others are compared with these
    for index, compare in (*_COMPARISONS, *(_DEEP_COMPARISONS if deep else ())):
        if index not in damaged:
            try:
                yield from compare(engine, progress)
            except EngineUnavailableError:
                raise
            except EngineError as error:
                damaged.add(index)
                yield _wrong(DAMAGED, index, "*", f"cannot be compared: {error}")


def _required(engine: Engine, _: ShowProgress) -> Iterator[Disagreement]:
    for each in missing_files(engine):
        message = (
            f"requires {each.required['filename']}, which was not imported: {each.revisits} of its"
            " revisits do not play"
        ) + f" ({', '.join(each.first)})" * bool(each.first)
        yield _wrong(REQUIRED, IndexName.FILES, f"{each.collection}/{each.file}", message)


def _records(engine: Engine, progress: ShowProgress) -> Iterator[Disagreement]:
    for id, message in check_records(engine, progress):
        yield _wrong("record", IndexName.CAPTURES, id, message)


def _of_area(
    index: IndexName, problems: Callable[[Engine], Iterable[tuple[str, ...]]], *kind: str
) -> Callable[[Engine, ShowProgress], Iterator[Disagreement]]:
    """Return the comparison by an area's own check; `kind` is for problems without one."""

    def compare(engine: Engine, _: ShowProgress) -> Iterator[Disagreement]:
        for problem in problems(engine):
            named, id, message = (*kind, *problem)
            yield _wrong(named, index, id, message)

    return compare


def _paired(engine: Engine, progress: ShowProgress) -> Iterator[Disagreement]:
    for entries in _stretches(engine, IndexName.DIGESTS, progress):
        for id, message in pair_faults(entries):
            yield _wrong("digests", IndexName.DIGESTS, id, message)


def _state(engine: Engine) -> tuple[object, ...]:
    """Return a value that changes whenever an archive is written to."""
    try:
        files = sorted((one.collection, one.name, one.done_to) for one in engine.files())
    except EngineUnavailableError:
        raise
    except EngineError:  # damage, which the comparisons report
        return ()
    indices = (IndexName.DOCUMENTS, IndexName.DATES, IndexName.CAPTURES)
    return (*files, *map(engine.count, indices))


def _documents(engine: Engine, progress: ShowProgress) -> Iterator[Disagreement]:
    """Yield documents without the date of their capture, unregistered, or not searchable."""
    read = 0
    for entries in _stretches(engine, IndexName.DOCUMENTS, progress):
        read += len(entries)
        ids = [entry["id"] for entry in entries]
        known, dates = engine.known(ids), engine.dates(ids)
        for entry in entries:
            id, capture = entry["id"], document_capture(entry)
            seen = dates[id].seen if id in dates else ()
            if (capture.timestamp, capture.collection) not in seen:
                yield _wrong("undated", IndexName.DOCUMENTS, id, "its capture is missing in dates")
            if known.get(id) != precedence(capture):
                yield _wrong("unregistered", IndexName.DOCUMENTS, id, "the registry differs")
            keys = document_key(capture.url, capture.digest), capture_key(capture)
            if id not in map(document_id, keys):
                yield _wrong("id", IndexName.DOCUMENTS, id, "the id is not that of its key")
        for id, message in engine.document_faults(entries):
            yield _wrong(ROW, IndexName.DOCUMENTS, id, message)
    everything = Question(collapse=Collapse.NONE, limit=0, snippets=False)
    found, counted = engine.search(everything).documents, engine.count(IndexName.DOCUMENTS)
    if found.relation == "eq" and not read == found.value == counted:
        message = f"{read} entries, {counted} counted, {found.value} found by a search"
        if found.value > counted:
            message += "; leftovers of a stopped writer are removed at the next write"
        yield _wrong("count", IndexName.DOCUMENTS, "*", message)


def _dates(engine: Engine, progress: ShowProgress) -> Iterator[Disagreement]:
    for entries in _stretches(engine, IndexName.DATES, progress):
        for entry in entries:
            if entry["id"] != document_id(entry["key"]):
                yield _wrong("id", IndexName.DATES, entry["id"], "the id is not that of its key")


def _captures(engine: Engine, progress: ShowProgress) -> Iterator[Disagreement]:
    """Yield captures that lack their date, or the document they should have.

    Checks imported captures with a digest. Captures of files that were never imported are from CDX
    lines, without texts.
    """
    held: Counter[tuple[str, str]] = Counter()
    files = engine.files()
    imported = {(file.collection, file.name) for file in files}
    separate = {
        (file.collection, file.name)
        for file in files
        if 0 < file.counts.get("captures", 0) == file.counts.get(UNDEDUPLICATED)
    }
    for entries in _stretches(engine, IndexName.CAPTURES, progress):
        captures = {entry["id"]: capture_from_entry(entry) for entry in entries}
        held.update((c.collection, c.source_file) for c in captures.values())
        ids = list({c.document_id for c in captures.values() if c.document_id})
        dates = {id: set(found.seen) for id, found in engine.dates(ids).items()}
        known = engine.known(ids)
        yield from _separate(engine, captures, known, separate)
        for id, capture in captures.items():
            document = capture.document_id
            if (capture.collection, capture.source_file) not in imported:
                continue
            if document and (capture.timestamp, capture.collection) not in dates.get(document, ()):
                yield _wrong("undated", IndexName.CAPTURES, id, f"dates of {document} lack it")
            if makes_document(capture) and known.get(document, -1) < precedence(capture):
                yield _wrong("undocumented", IndexName.CAPTURES, id, _lacking(capture))
    yield from _ledger(engine, held)


def _separate(
    engine: Engine,
    captures: Mapping[str, Capture],
    known: Mapping[str, int],
    separate: Container[tuple[str, str]],
) -> Iterator[Disagreement]:
    """Yield captures of files without deduplication that lack a document."""
    own = {
        document_id(capture_key(capture)): id
        for id, capture in captures.items()
        if (capture.collection, capture.source_file) in separate
        and makes_document(capture)
        and known.get(capture.document_id) != precedence(capture)
    }
    there = engine.known(own) if own else {}
    for document, id in own.items():
        if document not in there:
            yield _wrong("undocumented", IndexName.CAPTURES, id, f"document {document} is missing")


def _lacking(capture: Capture) -> str:
    return f"document {capture.document_id} is missing, or made of a later capture"


def _ledger(engine: Engine, held: Counter[tuple[str, str]]) -> Iterator[Disagreement]:
    """Yield finished files whose captures are not as many as were counted."""
    for file in engine.files():
        found, counted = held[file.collection, file.name], file.counts.get("captures", 0)
        if file.finished and found != counted:
            id = f"{file.collection}/{file.name}"
            message = f"{counted} captures were imported, {found} are in the archive"
            yield _wrong("ledger", IndexName.FILES, id, message)


_Comparison = tuple[IndexName, Callable[[Engine, ShowProgress], Iterator[Disagreement]]]
"""The index that is compared, without which there is nothing to compare, and how."""

_COMPARISONS: tuple[_Comparison, ...] = (
    (IndexName.ACCESS, _of_area(IndexName.ACCESS, stopped_purges, "purge")),
    (IndexName.DOCUMENTS, _documents),
    (IndexName.DATES, _dates),
    (IndexName.CAPTURES, _captures),
    (IndexName.FACETS, _of_area(IndexName.FACETS, check_facets, "facets")),
    (IndexName.INLINKS, _of_area(IndexName.INLINKS, check_inlinks, "inlinks")),
    (IndexName.QUEUE, _of_area(IndexName.QUEUE, lambda one: one.crawl_queue().problems(), "queue")),
    (IndexName.CRAWLS, _of_area(IndexName.CRAWLS, check_crawls)),
    (IndexName.QUALITY, _of_area(IndexName.QUALITY, check_scores)),
    (IndexName.DIGESTS, _paired),
    (IndexName.FILES, _required),
)
_DEEP_COMPARISONS: tuple[_Comparison, ...] = ((IndexName.CAPTURES, _records),)


def _stretches(
    engine: Engine, index: IndexName, progress: ShowProgress
) -> Iterator[list[Mapping[str, Any]]]:
    done, total = 0, engine.count(index)
    for stretch in batches(engine.scan(index), _AT_ONCE):
        yield stretch
        done += len(stretch)
        progress(WorkProgress(f"checking {index}", done, max(done, total)))


def _wrong(kind: str, index: str, id: str, message: str) -> Disagreement:
    return Disagreement(kind, str(index), id, message)
