"""Loading of complete files in watched folders until stopped, with its events and report."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, repeat
from pathlib import Path
from typing import Protocol

from nwx.captures import PagePlace
from nwx.engine.base import Engine, open_engine
from nwx.errors import (
    EngineBusyError,
    EngineError,
    EngineFullError,
    EngineUnavailableError,
    SourceError,
    system_reason,
)
from nwx.importing import ImportOptions, ImportReport, import_files, warm_up
from nwx.model import Batch, ReadError, SourceFile
from nwx.settings import Settings
from nwx.warc.checksums import checksum
from nwx.warc.sources import ArchiveSource
from nwx.watching.folders import (
    CompleteFile,
    Folders,
    complete_file,
    file_batches,
    held,
    make_folder,
    move_file,
)
from nwx.watching.grown_files import grown_sources, read_grown_again

_AWAY = (EngineUnavailableError, EngineBusyError, EngineFullError)
_LOOK_SECONDS = 0.2


class EventKind(StrEnum):
    """The kind of an event."""

    LOADED = "loaded"  # a file is in the archive now
    KNOWN = "known"  # a file was in the archive already
    FAILED = "failed"  # a file that cannot be loaded, or a folder that cannot be read
    NOT_MOVED = "not-moved"  # a file that is in the archive but cannot be moved
    WAITING = "waiting"  # the archive cannot be written at the moment
    BACK = "back"  # the archive can be written again


@dataclass(frozen=True, slots=True)
class Event:
    """An event about a file or the archive.

    `path` is where the file was found, `moved_to` its new path if it was moved. `captures` counts
    the file's captures, `errors_total` its errors; `errors` has the first ones.
    """

    kind: EventKind
    path: str = ""
    message: str = ""
    bytes: int = 0
    captures: int = 0
    errors_total: int = 0
    errors: tuple[ReadError, ...] = ()
    moved_to: str = ""
    retry_seconds: float = 0.0


@dataclass(slots=True)
class WatchReport:
    """The number of files by outcome, and the captures loaded of files that are not complete."""

    outcomes: Counter[str] = field(default_factory=Counter)
    partial: dict[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether any file could not be loaded or moved."""
        return bool(self.outcomes[EventKind.FAILED] or self.outcomes[EventKind.NOT_MOVED])


Tell = Callable[[Event], None]


class PageListener(Protocol):
    """Listener for the pages that a watch loads; its methods must be quick and not raise.

    `on_documents` gets new pages as from `import_files`; `idle` is called whenever nothing is left
    to load.
    """

    def on_documents(self, source: ArchiveSource, pages: Sequence[PagePlace]) -> object:
        """Process the new pages of a file."""

    def idle(self) -> object:
        """Do other work until new files can be loaded."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Options of a watch.

    Loaded files are moved to `completed`, files that cannot be loaded to `failed`, if these are
    set. With `once` the watch ends when all complete files are loaded, and an unavailable archive
    is an error.
    """

    imports: ImportOptions
    completed: Path | None = None
    failed: Path | None = None
    once: bool = False
    interval_seconds: float = 2.0
    settle_seconds: float = 60.0


def watch(
    settings: Settings,
    folders: Sequence[Path],
    options: WatchOptions,
    tell: Tell,
    stopping: Callable[[], bool] = lambda: False,
    listener: PageListener | None = None,
) -> WatchReport:
    """Load archive files into an archive as they become complete, until `stopping` is true.

    Each file is loaded exactly once, even if processes are killed. The archive is open only while
    files are loaded, so that others can write in between. Raises EngineError if it cannot be used,
    and SourceError if a folder is invalid or already watched.
    """
    warm_up(settings)  # before any other process is forked
    with held(folders):
        for folder in (options.completed, options.failed):
            if folder is not None:
                make_folder(folder)
        return _Watch(settings, folders, options, tell, stopping, listener).run()


class _Watch:
    def __init__(
        self,
        settings: Settings,
        folders: Sequence[Path],
        options: WatchOptions,
        tell: Tell,
        stopping: Callable[[], bool],
        listener: PageListener | None,
    ) -> None:
        self._listener = listener
        self._settings, self._options = settings, options
        self._say, self._stopping = tell, stopping
        self._report = WatchReport()
        self._unreadable: set[str] = set()
        others = [folder for folder in (options.completed, options.failed) if folder]
        self._folders = Folders(folders, options.settle_seconds, others, self._cannot_read)
        self._pauses = _pauses()
        self._away = False
        self._has_archive = False
        self._ledger: dict[str, SourceFile] = {}
        self._begun: set[str] = set()

    def run(self) -> WatchReport:
        while not self._stopping():
            whole = self._folders.look()
            growing = []
            if self._has_archive and not self._options.once:
                growing = grown_sources(self._folders, whole, self._ledger)
            if whole or growing or not self._has_archive:
                self._load_all(whole, growing)
            if self._listener and self._has_archive and not whole:
                self._listener.idle()
            if self._options.once and not whole and not self._folders.settling():
                break
            if not self._away and not (whole and self._options.once):
                self._rest(self._folders.pause(self._options.interval_seconds))
        return self._report

    def _tell(self, event: Event) -> None:
        self._report.outcomes[event.kind] += 1
        self._say(event)

    def _cannot_read(self, error: OSError) -> None:
        """Report an unreadable folder, once."""
        if str(error.filename) not in self._unreadable:
            self._unreadable.add(str(error.filename))
            message = f"the folder cannot be read: {error.strerror}"
            self._tell(Event(EventKind.FAILED, str(error.filename), message))

    def _load_all(self, paths: list[Path], growing: Sequence[ArchiveSource]) -> None:
        """Load files into the archive, created if missing; wait while it is unavailable."""
        try:
            with open_engine(self._settings) as engine:
                engine.create()
                self._has_archive = True
                self._back()
                self._read_ledger(engine)
                for batch in file_batches(self._unknown(paths)):
                    if self._stopping():
                        return
                    self._load(engine, batch)
                if growing:
                    self._import(engine, growing)
                    self._read_ledger(engine)
        except _AWAY as error:
            if self._options.once:
                raise
            self._wait(error)

    def _wait(self, error: EngineError) -> None:
        self._away = True
        seconds = next(self._pauses)
        self._tell(Event(EventKind.WAITING, message=str(error), retry_seconds=seconds))
        self._rest(seconds)

    def _back(self) -> None:
        if self._away:
            self._away, self._pauses = False, _pauses()
            self._tell(Event(EventKind.BACK))

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_SECONDS))

    def _read_ledger(self, engine: Engine) -> None:
        collection = self._options.imports.collection
        self._ledger = {
            entry.name: entry for entry in engine.files() if entry.collection == collection
        }
        begun = (self._ledger[name] for name in self._begun & self._ledger.keys())
        counts = {one.name: one.counts.get("captures", 0) for one in begun if not one.finished}
        self._report.partial = {name: captures for name, captures in counts.items() if captures}

    def _unknown(self, paths: list[Path]) -> Iterator[CompleteFile]:
        """Yield the files to read; files kept in place with known path and size are skipped.

        Comparing the checksum of each would take hours at every start.
        """
        for path in paths:
            file = complete_file(path)
            entries = [self._ledger.get(source.name) for source in file.sources]
            known = self._options.completed is None and all(
                entry and entry.finished and (entry.path, entry.size) == (source.path, source.size)
                for source, entry in zip(file.sources, entries, strict=True)
            )
            if known and not file.errors:
                self._report.outcomes[EventKind.KNOWN] += 1
                self._folders.dealt_with(path)
            else:
                yield file

    def _load(self, engine: Engine, files: list[CompleteFile]) -> None:
        before = self._ledger
        sources = [source for file in files for source in file.sources]
        read_grown_again(engine, sources, before)
        found: list[ArchiveSource | ReadError] = [*sources]
        found += (error for file in files for error in file.errors)
        report = self._import(engine, found)
        self._read_ledger(engine)
        if report.interrupted:
            return
        loaded = []
        for file in files:
            names = {source.name for source in file.sources}
            errors = (*file.errors, *(error for error in report.errors if error.file in names))
            if problem := self._problem(file, errors):
                self._fail(file, problem, errors)
            else:
                loaded.append((file, errors))
        self._settle(engine, loaded, before)

    def _import(self, engine: Engine, sources: Sequence[ArchiveSource | ReadError]) -> ImportReport:
        self._begun |= {one.name for one in sources if isinstance(one, ArchiveSource)}
        return import_files(
            engine,
            self._settings,
            sources,
            self._options.imports,
            stopping=self._stopping,
            on_documents=self._listener.on_documents if self._listener else None,
        )

    def _problem(self, file: CompleteFile, errors: tuple[ReadError, ...]) -> str:
        """Return why a file is not in the archive, "" if all of it is."""
        if not file.sources:
            return errors[0].message if errors else "it has no records"
        for source in file.sources:
            entry = self._ledger.get(source.name)
            own = [error for error in errors if error.file == source.name]
            conflict = next((error for error in own if error.kind == "conflict"), None)
            if conflict or entry is None or not entry.finished or not _is_of(source, entry):
                return (conflict or own[-1]).message if own else "it cannot be read"
        return ""

    def _fail(self, file: CompleteFile, problem: str, errors: tuple[ReadError, ...]) -> None:
        """Report a file that cannot be loaded, once, and move it to the folder for failed files."""
        self._folders.dealt_with(file.path)
        moved_to = ""
        if self._options.failed is not None:
            try:
                moved_to = str(move_file(file.path, self._options.failed))
                file.path.unlink()
            except (SourceError, OSError) as error:
                problem = f"{problem}; it cannot be moved either: {system_reason(error)}"
        self._tell(
            Event(
                EventKind.FAILED,
                str(file.path),
                problem,
                errors_total=len(errors),
                errors=errors,
                moved_to=moved_to,
            )
        )

    def _settle(
        self,
        engine: Engine,
        loaded: list[tuple[CompleteFile, tuple[ReadError, ...]]],
        before: dict[str, SourceFile],
    ) -> None:
        """Move loaded files, update their paths in the ledger, and report them."""
        places = {file.path: self._placed(file) for file, _ in loaded}
        moved = [
            replace(self._ledger[source.name], path=str(places[file.path]))
            for file, _ in loaded
            for source in file.sources
            if self._is_elsewhere(source, places[file.path])
        ]
        if moved:
            engine.write(Batch(files=tuple(moved)))
            engine.refresh()
        for file, errors in loaded:
            self._folders.dealt_with(file.path)
            self._tell(self._loaded(file, errors, before, places[file.path]))
            if places[file.path] != file.path:
                self._take_away(file.path)

    def _placed(self, file: CompleteFile) -> Path:
        """Move a loaded file if configured; return its final path."""
        folder = self._options.completed
        if folder is None:
            return file.path
        try:
            return move_file(file.path, folder)
        except SourceError as error:
            self._tell(Event(EventKind.NOT_MOVED, str(file.path), str(error)))
            return file.path

    def _take_away(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            message = f"it was copied, but cannot be deleted here: {error.strerror}"
            self._tell(Event(EventKind.NOT_MOVED, str(path), message))

    def _is_elsewhere(self, source: ArchiveSource, place: Path) -> bool:
        """Return whether the ledger has another path, outdated by this one."""
        named = Path(self._ledger[source.name].path)
        gone = named.is_absolute() and not named.exists()
        return named != place and (str(named) == source.path or gone)

    def _loaded(
        self,
        file: CompleteFile,
        errors: tuple[ReadError, ...],
        before: dict[str, SourceFile],
        place: Path,
    ) -> Event:
        entries = [self._ledger[source.name] for source in file.sources]
        held = [before.get(source.name) for source in file.sources]
        known = all(
            old is not None and old.finished and old.checksum == new.checksum
            for old, new in zip(held, entries, strict=True)
        )
        return Event(
            EventKind.KNOWN if known else EventKind.LOADED,
            str(file.path),
            bytes=sum(source.size or 0 for source in file.sources),
            captures=sum(entry.counts.get("captures", 0) for entry in entries),
            errors_total=sum(entry.counts.get("errors", 0) for entry in entries) + len(file.errors),
            errors=errors,
            moved_to=str(place) if place != file.path else "",
        )


def _pauses() -> Iterator[float]:
    return chain((1.0, 2.0, 5.0, 10.0, 30.0), repeat(60.0))


def _is_of(source: ArchiveSource, entry: SourceFile) -> bool:
    """Return whether a ledger entry belongs to a file, whatever its path."""
    if source.size != entry.size:
        return False
    try:
        return source.path == entry.path or checksum(source) == entry.checksum
    except SourceError:
        return False
