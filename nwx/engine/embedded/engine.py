"""An archive in a folder."""

import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.base import Engine, EngineTraits, StagedBatch, Staging, check_deletable
from nwx.engine.capabilities import Upgrade
from nwx.engine.document_index import DatesBuilder
from nwx.engine.embedded import reader
from nwx.engine.embedded.captures.loader import EndedLoads, Loader, Loading, upgrade_folder
from nwx.engine.embedded.captures.stored_captures import StoredCaptures
from nwx.engine.embedded.database import connect
from nwx.engine.embedded.date_folders import DatesWriter
from nwx.engine.embedded.date_indices import EmbeddedDatesIndices
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.reader import SharedConnection
from nwx.engine.embedded.separate_indices import SEPARATE, SeparateCapabilities, SeparateIndices
from nwx.engine.embedded.staged_rows import StagedRows, batch_rows
from nwx.engine.entries import merged_dates, merged_entries
from nwx.engine.indices.declarations import INDICES, IndexKind
from nwx.errors import EngineBusyError, EngineError
from nwx.model import (
    MAIN_DATES,
    Batch,
    Capture,
    Dates,
    Document,
    IndexName,
    IndexStats,
    SourceFile,
    Written,
)
from nwx.settings import RankingSettings

if TYPE_CHECKING:
    from nwx.engine.capabilities import Damage
    from nwx.engine.embedded.backups import FolderBackups
    from nwx.engine.embedded.built_stores import EmbeddedInlinkIndex
    from nwx.engine.embedded.documents.search import DocumentSearches
    from nwx.engine.embedded.documents.view import ArchiveViews
    from nwx.engine.embedded.writer import ArchiveWriter, EmbeddedPurger
    from nwx.engine.indices.vector_index import NearPassages
    from nwx.model import Hit, NamedDates, SearchResult
    from nwx.query.question import Question
    from nwx.values.timestamps import Period, TrendPoint

_APPEND_WAIT_SECONDS = 10.0


class EmbeddedEngine(SeparateCapabilities, StoredCaptures, Engine):
    """An archive in a folder; thread-safe.

    `create`, or the first write, takes the single writer's lock, held until `close`. Several writes
    are committed together: data is searchable and durable after `refresh` or `close`, or a while
    later. With `read_only` nothing is ever written.
    """

    traits = EngineTraits(
        estimates=False, live_selections=False, transactional_load=True, is_local=True
    )

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        ranking: RankingSettings | None = None,
        progress: ShowProgress = no_progress,
    ) -> None:
        self.address = str(path)
        self._folder = Folder(path, progress)
        self._read_only = read_only
        self._guard = threading.RLock()
        self._shared = SharedConnection(self._folder)
        self._views_guard = threading.Lock()
        self._views: ArchiveViews | None = None
        self._searching: DocumentSearches | None = None
        self._writer: ArchiveWriter | None = None
        self._loads = EndedLoads()
        self._main_dates = DatesWriter(self._folder)
        self._parallel = EmbeddedDatesIndices(self._folder, self._reading, self._altering)
        self._ranking = ranking or RankingSettings()
        self._separate = SeparateIndices(
            self._folder, self._streaming, self._make_archive, read_only=read_only
        )
        if read_only:
            self._folder.check()
        elif self._folder.exists():
            with suppress(EngineError):  # the first use raises it again
                upgrade_folder(self._folder)

    @property
    def _viewer(self) -> "ArchiveViews":
        # Imported here: sizes, files and capture look-ups need neither texts nor columns.
        from nwx.engine.embedded.documents.view import ArchiveViews

        with self._views_guard:
            if self._views is None:
                self._views = ArchiveViews(self._folder)
            return self._views

    @property
    def _searches(self) -> "DocumentSearches":
        # Imported here: reading documents and dates needs neither queries nor links.
        from nwx.engine.embedded.documents.search import DocumentSearches
        from nwx.engine.inlinks.anchor_table import AnchorBlobs

        views = self._viewer
        with self._views_guard:
            if self._searching is None:
                anchors = AnchorBlobs(self._separate.inlink_blobs(), self.dates)
                self._searching = DocumentSearches(views, anchors, self._ranking)
            return self._searching

    def create(self) -> None:
        self._writing()

    def upgrade(self, progress: ShowProgress = no_progress) -> Upgrade:
        self._folder.progress = progress
        return upgrade_folder(self._folder, self._writing)

    def write(self, batch: Batch) -> Written:
        return self._writing().write(StagedRows((batch_rows(batch),)))

    def staging(self) -> Staging:
        """Return a staging that builds rows, and a segment with the texts of new documents."""
        from nwx.engine.embedded.stager import Stager

        return Stager(self._folder, self._reading)

    def write_staged(self, staged: StagedBatch) -> Written:
        return self._writing().write(staged.content)

    def known(self, ids: Collection[str]) -> dict[str, int]:
        with self._reading() as db:
            return reader.known(db, ids)

    def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        with self._reading() as db:
            nums = reader.nums(db, ids)
        self._commit()
        view = self._viewer.view()
        with self._folder.our_errors():
            return reader.stored_documents(view.searcher, nums)

    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        with self._reading() as db:
            found = reader.stored_dates(db, ids)
        return merged_dates([found, *self._viewer.further_dates(ids)])

    def load_captures(self, batches: Iterable[Sequence[Capture]]) -> int:
        with self._loading(batches) as (loader, chunks):
            return loader.load(chunks)

    def unload_captures(self, ids: Iterable[str]) -> int:
        with self._loading() as (loader, _):
            return loader.unload(ids)

    @contextmanager
    def _loading(self, batches: Iterable[Sequence[Capture]] = ()) -> Iterator[Loading]:
        """Yield a loader, which holds the writer's lock, and the captures to load."""
        with self._guard:
            self._check_writable()
            if self._writer is not None:
                raise EngineBusyError.translated(
                    "an import into %(address)s is not closed yet", address=self.address
                )
            self._make_archive()
        with self._loads.incoming(batches) as chunks:
            self._loads.wait()
            loader = Loader(self._folder, _APPEND_WAIT_SECONDS)
            try:
                yield loader, chunks
            finally:
                self._loads.end(loader)

    def append_dates(self, dates: Sequence[Dates], into: str = MAIN_DATES) -> int:
        with self._guard:
            self._check_writable()
            self._make_archive()
            if into != MAIN_DATES:
                return self._parallel.append(into, dates)
            if self._writer is not None:
                return self._writer.append_dates(dates)
            return self._main_dates.append(dates)

    def dates_indices(self) -> "list[NamedDates]":
        self._commit()
        return self._parallel.listed()

    def attach_dates(self, name: str, address: str = "") -> None:
        self._parallel.attach(name, address)

    def detach_dates(self, name: str) -> None:
        self._parallel.detach(name)

    def drop_dates(self, name: str) -> None:
        self._check_writable()
        self._parallel.drop(name)

    def scan_dates(self, place: str) -> Iterator[Dates]:
        self._commit()
        return self._parallel.scan(place)

    def build_dates(self, place: str) -> AbstractContextManager[DatesBuilder]:
        return self._parallel.build(place)

    def search(self, question: "Question") -> "SearchResult":
        with self._folder.our_errors():
            return self._searches.search(self.widened(question))

    def search_near(self, question: "Question", near: "NearPassages") -> "SearchResult":
        with self._folder.our_errors():
            return self._searches.search_near(self.widened(question), near)

    def search_state(self) -> str:
        with self._folder.our_errors():
            return self._searches.search_state()

    def scroll(self, question: "Question") -> "Iterator[Hit]":
        with self._folder.our_errors():
            yield from self._searches.scroll(self.widened(question))

    def trends(self, questions: "Sequence[Question]", period: "Period") -> "list[list[TrendPoint]]":
        with self._folder.our_errors():
            return self._searches.trends([*map(self.widened, questions)], period)

    def similar_words(self, word: str, most: int) -> list[str]:
        with self._folder.our_errors():
            return self._searches.similar_words(word, most)

    def count(self, index: IndexName) -> int:
        if index in SEPARATE:
            return self._separate.count(index)
        with self._reading() as db:
            return reader.entries(db, index)

    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        if index in SEPARATE:
            yield from self._separate.scan(index)
            return
        with self._streaming() as db:
            if index is IndexName.DOCUMENTS:
                yield from reader.document_entries(db, self._viewer.view().searcher)
            elif index is IndexName.DATES:
                others = self._parallel.scan_attached()
                yield from merged_entries([reader.stored_entries_of(db, index), *others])
            else:
                yield from reader.stored_entries_of(db, index)

    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        check_deletable(index)
        if index is IndexName.PICTURES:
            return self.picture_index().remove(ids)
        if INDICES[index].kind is IndexKind.ENTRIES:
            return self.entry_store(index).delete(ids)
        return self._writing().delete(index, ids)

    def files(self) -> list[SourceFile]:
        with self._reading() as db:
            return reader.files(db)

    def claims(self) -> None:
        """Return None: the folder has one writer at a time."""

    def purger(self) -> "EmbeddedPurger":
        from nwx.engine.embedded.writer import EmbeddedPurger

        self._check_writable()
        return EmbeddedPurger(self._writing, self._parallel, self._separate)

    def backups(self, place: str) -> "FolderBackups":
        from nwx.engine.embedded.backups import FolderBackups

        self._commit()
        return FolderBackups(self._folder, Path(place))

    def inlink_index(self) -> "EmbeddedInlinkIndex":
        from nwx.engine.embedded.built_stores import EmbeddedInlinkIndex

        folder = self._folder.path / "inlinks"
        return EmbeddedInlinkIndex(
            folder, self._streaming, self._viewer.view, self._documents_stamp
        )

    def _documents_stamp(self) -> str:
        with self._reading() as db:
            stamp = reader.documents_stamp(db)
        return ", ".join([stamp, *self._parallel.stamps()])

    def damage(self) -> "Iterator[Damage]":
        from nwx.engine.embedded.folder_damage import folder_damage

        self._commit()
        with self._folder.our_errors():
            yield from folder_damage(self._folder, self._separate, self._parallel)

    def document_faults(self, entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
        from nwx.engine.embedded.folder_damage import document_faults

        with self._reading() as db:
            yield from document_faults(db, entries)

    def stats(self) -> dict[IndexName, IndexStats]:
        self._commit()
        with self._reading() as db:
            stats = {
                index: IndexStats(
                    reader.entries(db, index), reader.stored_bytes(db, self._folder, index)
                )
                for index in IndexName
                if index not in SEPARATE
            }
        return stats | self._separate.stats()

    def refresh(self) -> None:
        self._commit()

    def close(self) -> None:
        with self._guard:
            writer, self._writer = self._writer, None
            try:
                if writer is not None:
                    writer.close()
                self._main_dates.close(self._folder.columns)
                self._parallel.close()
                self._separate.close()
                if not self._read_only:
                    from nwx.engine.embedded.documents.attached_dates import keep_joined

                    keep_joined(self._folder)
            finally:
                self._loads.finish()
                self._shared.close()
                if self._views is not None:
                    self._views.close()

    def _writing(self) -> "ArchiveWriter":
        """Return the writer, created on first use."""
        # Imported here: it loads tantivy, which reading sizes or captures does not need.
        from nwx.engine.embedded.writer import ArchiveWriter

        with self._guard:
            self._check_writable()
            self._loads.finish()
            if self._writer is None:
                # A process that is creating the archive holds the lock for that time.
                wait_seconds = 0.0 if self._folder.exists() else _APPEND_WAIT_SECONDS
                self._writer = ArchiveWriter(self._folder, wait_seconds)
            return self._writer

    def _make_archive(self) -> None:
        if not self._folder.exists():
            from nwx.engine.embedded.writer import ArchiveWriter

            ArchiveWriter(self._folder, _APPEND_WAIT_SECONDS).close()

    def _check_writable(self) -> None:
        if self._read_only:
            raise EngineError.translated(
                "the archive at %(address)s was opened for reading only", address=self.address
            )

    @contextmanager
    def _altering(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for a change that is committed at the end of the context."""
        with self._guard:
            self._check_writable()
            if self._writer is None:
                self._folder.check()
            changing = self._main_dates if self._writer is None else self._writer
            with changing.transaction() as db:
                yield db

    def _commit(self) -> None:
        with self._guard:
            if self._writer is not None:
                self._writer.commit()

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        writer = self._writer
        return self._shared if writer is None else writer.reading()

    @contextmanager
    def _streaming(self) -> Iterator[sqlite3.Connection]:
        self._commit()
        self._folder.check()
        with (
            self._folder.our_errors(),
            closing(connect(self._folder.database, read_only=True, names=self._folder.names)) as db,
        ):
            yield db
