"""The engine interface: its capabilities, the class that combines them, and opening by address."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.data_classes import dataclass
from nwx.engine.capabilities import Ledger, Shards, Upgrade
from nwx.engine.capture_index import CaptureIndex, KeysAtTime, newest_first
from nwx.engine.document_index import DatesIndex, DocumentIndex
from nwx.engine.indices.declarations import INDICES
from nwx.errors import UrlError, UsageError
from nwx.model import Batch, Capture, IndexName, IndexStats, SourceFile, Written
from nwx.settings import Settings
from nwx.values.digests import is_payload
from nwx.values.urlkeys import urlkey

_LOOKED_AT = 1_000

if TYPE_CHECKING:
    from nwx.engine.access.access_index import AccessIndex, Purger
    from nwx.engine.capabilities import Backups, Damage
    from nwx.engine.facet_store import FacetStore
    from nwx.engine.indices.change_log import AliasIndex, ChangeLog
    from nwx.engine.indices.crawl_index import CrawlIndex
    from nwx.engine.indices.crawl_queue import CrawlQueue, UpdateOutbox
    from nwx.engine.indices.digest_index import DigestIndex
    from nwx.engine.indices.entry_store import EntryStore
    from nwx.engine.indices.picture_index import PictureIndex
    from nwx.engine.indices.quality_index import QualityIndex
    from nwx.engine.inlinks.inlink_index import InlinkIndex
    from nwx.query.question import Question


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """Differences between engines, apart from speed.

    `estimates`: totals beyond RESULT_WINDOW may be lower bounds, marked as such. `live_selections`:
    captures can be looked up by conditions (`FacetStore.live_selection`). `transactional_load`:
    captures are loaded all or none, in any event. `is_local`: it reads files of this machine, so
    short answers take hardly any waiting.
    """

    estimates: bool
    live_selections: bool
    transactional_load: bool
    is_local: bool


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """Batches prepared by a `Staging`, as far as processes other than the writer can.

    `files` are their ledger entries. `content` is the engine's data for storing them, cheap to
    pickle.
    """

    files: tuple[SourceFile, ...]
    content: Any


class Staging(ABC):
    """Prepares batches in any process, for the writer to store; not thread-safe.

    No document of a batch may share its key with another (`nwx.importing.sole_import`).
    """

    @abstractmethod
    def add(self, batch: Batch) -> None:
        """Add a batch; one that raised an error may be added again."""

    @property
    @abstractmethod
    def is_full(self) -> bool:
        """Whether more batches would take too much memory, or save nothing."""

    @abstractmethod
    def finish(self) -> StagedBatch:
        """Return all batches since the last call as one, to be written in their order."""


def check_deletable(index: IndexName) -> None:
    """Raise UsageError for an index whose entries cannot be deleted one by one."""
    if reason := INDICES[index].undeletable:
        raise UsageError(reason)


class Engine(DocumentIndex, CaptureIndex, DatesIndex, Ledger):
    """An open archive: all its capabilities, writes across several of them, and `close`.

    Every method raises EngineUnavailableError if the engine is unreachable or does not answer in
    time: an outage is never an empty result.
    """

    address: str
    traits: EngineTraits

    @property
    def hidden_key(self) -> str:
        """A text that differs between engines that hide different content; "" hides nothing."""
        return ""

    def hidden_urls(self, urls: Collection[str]) -> set[str]:
        """Return the URLs that must not be shown, whether captured or not."""
        del urls
        return set()

    @abstractmethod
    def create(self) -> None:
        """Create missing indices, and complete the work of a killed writer.

        Raises EngineVersionError on indices of another version, EngineBusyError if another writer
        holds them.
        """

    def check(self) -> None:
        """Raise EngineError if there is no archive; reading engines of a folder exist."""

    @abstractmethod
    def write(self, batch: Batch) -> Written:
        """Store a batch; writing it again changes nothing.

        A document replaces the one of the same id if its capture takes precedence
        (`nwx.keys.precedence`), an amended one also if it is of the same capture. Dates are added
        to the stored ones. The ledger entries are stored last. May be called again before `refresh`
        makes the entries visible to searches.
        """

    @abstractmethod
    def staging(self) -> Staging:
        """Return a staging, for use while another process has the archive open for writing."""

    def stage(self, batch: Batch) -> StagedBatch:
        """Prepare a single batch."""
        staging = self.staging()
        staging.add(batch)
        return staging.finish()

    @abstractmethod
    def write_staged(self, staged: StagedBatch) -> Written:
        """Store staged batches; once, and in the writing process."""

    @abstractmethod
    def count(self, index: IndexName) -> int:
        """Return the number of entries of an index; for dates, of the main index."""

    @abstractmethod
    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        """Yield all entries of an index, as in its mapping, ordered by id.

        Captures are in the order of collection, file and offset. Dates include all attached
        indices.
        """

    @abstractmethod
    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        """Delete entries, for dates in the main index only; return the number deleted.

        Pictures are also deleted by document id. Raises UsageError for indices that are declared
        undeletable (`nwx.engine.indices.declarations`).
        """

    @abstractmethod
    def facet_store(self) -> "FacetStore":
        """Return the bulk reader of captures and store of the facets built from them."""

    @abstractmethod
    def inlink_index(self) -> "InlinkIndex":
        """Return the bulk reader of documents with their links and store of the inlinks built."""

    @abstractmethod
    def crawl_index(self) -> "CrawlIndex":
        """Return the crawl specifications and the scores of documents and links."""

    @abstractmethod
    def entry_store(self, index: IndexName) -> "EntryStore":
        """Return the entry store of an index that is declared to have small entries."""

    def quality_index(self) -> "QualityIndex":
        """Return the index of playback scores and of the states of crawl monitors."""
        from nwx.engine.indices.quality_index import QualityIndex

        return QualityIndex(self.entry_store(IndexName.QUALITY))

    def access_index(self) -> "AccessIndex":
        """Return the access rules; usable by others while an import writes."""
        return self._access_index

    @cached_property
    def _access_index(self) -> "AccessIndex":
        from nwx.engine.access.access_index import AccessIndex

        return AccessIndex(self.entry_store(IndexName.ACCESS))

    @cached_property
    def aliases(self) -> "AliasIndex":
        """The aliases of URLs; usable by others while an import writes."""
        from nwx.engine.indices.change_log import AliasIndex

        seconds = 0.0 if self.traits.is_local else 1.0
        return AliasIndex(self.entry_store(IndexName.ALIASES), seconds)

    @cached_property
    def digests(self) -> "DigestIndex":
        """The additional digests of payloads; usable by others while an import writes."""
        from nwx.engine.indices.digest_index import DigestIndex

        seconds = 0.0 if self.traits.is_local else 1.0
        return DigestIndex(self.entry_store(IndexName.DIGESTS), seconds)

    def captures_by_digest(self, digest: str, urlkey: str = "") -> Iterator[Capture]:
        """Yield the captures of a digest, and of other digests of the same payload.

        Ordered as by `captures_of_digest`; the other digests are looked up in `digests`.
        """
        same = self.digests.same(digest)
        return newest_first([self.captures_of_digest(one, urlkey) for one in same])

    def originals_of(self, revisit: Capture) -> Iterator[Capture]:
        """Yield captures with the payload of a revisit, those of its URL first.

        For an empty payload, only those of its URL. Without a digest, the captures of the URL that
        it refers to, nearest in time first.
        """
        if revisit.digest:
            yield from self.captures_by_digest(revisit.digest, revisit.urlkey)
            others = self.captures_by_digest(revisit.digest) if is_payload(revisit.digest) else ()
            yield from (one for one in others if one.urlkey != revisit.urlkey)
        elif revisit.refers_to_url:
            with suppress(UrlError):
                key = (urlkey(revisit.refers_to_url),)
                moment = revisit.refers_to_timestamp or revisit.timestamp
                (near,) = self.captures_near([KeysAtTime(key, moment)], _LOOKED_AT)
                yield from (one for one in near if one.record_type != "revisit")

    def widened(self, question: "Question") -> "Question":
        """Return a question whose conditions on digests hold for all digests of the payloads."""
        from nwx.engine.indices.digest_index import with_same_digests

        return with_same_digests(self.digests, question)

    def change_log(self) -> "ChangeLog":
        """Return the log of changes that followers of the archive read."""
        from nwx.engine.indices.change_log import ChangeLog

        return ChangeLog(self.entry_store(IndexName.CHANGES))

    @abstractmethod
    def picture_index(self) -> "PictureIndex":
        """Return the images of the archive, with the texts of pages about them."""

    @abstractmethod
    def crawl_queue(self) -> "CrawlQueue":
        """Return the queue of URLs for crawlers; usable by others while an import writes."""

    @abstractmethod
    def outbox(self) -> "UpdateOutbox":
        """Return the updates waiting to be sent to queues elsewhere."""

    def purger(self) -> "Purger":
        """Return the purger, which removes entries from the archive for good.

        Raises UsageError if the archive is opened only for callers that may not purge.
        """
        raise UsageError(f"nothing can be purged from {self.address} here")

    def backups(self, place: str) -> "Backups":
        """Return the backups at a place: a folder, or a snapshot repository of the server."""
        raise UsageError(f"{self.address} cannot be backed up to {place} here")

    def shards(self) -> Shards:
        """Return the interface to inspect and change the shards of the indices."""
        return Shards()

    def upgrade(self, progress: ShowProgress = no_progress) -> Upgrade:
        """Migrate an archive made by an older nwx; return what was done.

        Resumes after a killed run. An index on a server keeps its number of shards.
        """
        self.check()
        shards = self.shards()
        health, older = shards.health(), tuple(shards.older_forms())
        for index in older:
            shards.reshard(index, health[index].shards, progress)
        return Upgrade(indices=older)

    def damage(self) -> "Iterator[Damage]":
        """Yield the damage to stored data, as far as this engine can detect it."""
        from nwx.engine.capabilities import blob_damage

        yield from blob_damage(self.facet_store(), IndexName.FACETS)
        yield from blob_damage(self.inlink_index(), IndexName.INLINKS)

    def document_faults(self, entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
        """Yield the ids of documents whose stored parts are inconsistent, each with a message."""
        del entries
        return iter(())

    @abstractmethod
    def stats(self) -> dict[IndexName, IndexStats]:
        """Return the size of each index."""

    @abstractmethod
    def refresh(self) -> None:
        """Make everything written visible to searches, and durable."""

    @abstractmethod
    def close(self) -> None:
        """Release files, locks and connections; closing twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Migration(Generic[_T]):
    """A step to the format `number`; `what` describes in a few words what `apply` does."""

    number: int
    what: str
    apply: Callable[[_T], None]


def pending_migrations(
    migrations: Sequence[Migration[_T]], number: int
) -> tuple[Migration[_T], ...]:
    """Return the steps that an archive with format `number` has not taken, in their order."""
    return tuple(one for one in sorted(migrations, key=_number) if one.number > number)


def _number(migration: Migration[_T]) -> int:
    return migration.number


_FOLDER = ""
_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}/?", re.ASCII)
_SERVERS = ("http", "https", "opensearch+http", "opensearch+https")
_PACKAGES = {
    _FOLDER: "nwx.engine.embedded",
    **dict.fromkeys(_SERVERS, "nwx.engine.server_engines"),
}
"""The modules of the engines by the schemes of their addresses; a folder has none."""


def is_server(address: str) -> bool:
    """Return whether an address is a server (`http://`, `opensearch+https://` …), not a folder."""
    return bool(_scheme(address)) and _scheme(address) in _PACKAGES


def engine_package(address: str) -> str:
    """Return the package name of the engine at an address.

    Raises UsageError on an unknown scheme, and on HOST:PORT if there is no such folder.
    """
    scheme = _scheme(address)
    if scheme == _FOLDER and _PLACE.fullmatch(address) and not Path(address).is_dir():
        raise UsageError(
            f"{address}: there is no such folder; write http://{address} for an "
            f"Elasticsearch, opensearch+http://{address} for an OpenSearch"
        )
    if scheme not in _PACKAGES:
        raise UsageError(
            f"{address}: unknown scheme {scheme!r}; give a folder, "
            "the http:// or https:// address of an Elasticsearch, or the "
            "opensearch+http:// or opensearch+https:// address of an OpenSearch"
        )
    return _PACKAGES[scheme]


def _scheme(address: str) -> str:
    scheme, separator, _ = address.partition("://")
    return scheme if separator else _FOLDER


def open_engine(
    settings: Settings, *, read_only: bool = False, progress: ShowProgress = no_progress
) -> Engine:
    """Return the engine at `settings.engine`: a search server at an address, else a folder.

    Close it after use. A folder of an older version is migrated first, unless `read_only`.
    Raises EngineError on a missing or unusable engine, UsageError on an unknown scheme.
    """
    # Imported here so that one engine never loads the libraries of another.
    package = import_module(engine_package(settings.engine))
    engine: Engine = package.open_engine(settings, read_only=read_only, progress=progress)
    return engine
