"""Backups contain the archive at their start and can be restored, even during imports."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from nwx.bulk.progress import WorkProgress, no_progress
from nwx.engine.base import Engine, open_engine
from nwx.engine.capabilities import accept
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.errors import EngineError, UsageError
from nwx.importing import ImportOptions, import_files
from nwx.maintenance.agreement import check
from nwx.maintenance.backups import restore_backup
from nwx.model import IndexName
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.conformance.archive import settings_of
from tests.conformance.engines import Opener
from tests.warcs import many_pages, write_warc

ABOVE_ENGINES = True
NAMES = "20260101-000000-000", "20260102-000000-000", "20260103-000000-000"
Import = Callable[[Engine], None]


@pytest.fixture
def import_more(tmp_path: Path) -> Import:
    """Imports an additional file of three pages."""
    number = count()

    def run(engine: Engine) -> None:
        path = tmp_path / f"{(start := 3 * next(number))}.warc.gz"
        write_warc(path, many_pages(3, start=start))
        import_files(engine, settings_of(engine), expand([str(path)]), ImportOptions(jobs=1))
        engine.refresh()

    return run


@pytest.fixture
def place(kind: str, open_archive: Opener, tmp_path: Path) -> Iterator[str]:
    """A folder, or a repository in the folder that the test server allows."""
    if kind == "embedded":
        yield str(tmp_path / "backups")
        return
    with open_archive() as engine:
        assert isinstance(engine, SearchServerEngine)
        name = engine._settings.prefix
        body = {"type": "fs", "settings": {"location": name}}
        engine._server.request("PUT", f"/_snapshot/{name}", body)
        yield name
        for made in engine.backups(name).names():
            engine.backups(name).remove(made)
        engine._server.request("DELETE", f"/_snapshot/{name}")


def archived(settings: Settings) -> set[str]:
    with open_engine(settings, read_only=True) as engine:
        assert list(check(engine)) == []
        return {entry["url"] for entry in engine.scan(IndexName.CAPTURES)}


def test_a_backup_taken_during_imports_is_restored(
    open_archive: Opener, place: str, import_more: Import
) -> None:
    with open_archive() as engine:
        engine.create()
        import_more(engine)
        settings = settings_of(engine)
        before = archived(settings)

        def importing(_: WorkProgress) -> None:
            import_more(engine)

        engine.backups(place).make(NAMES[0], accept, importing)
        after = archived(settings)
    with open_engine(settings) as engine:
        backups = engine.backups(place)
        with pytest.raises(UsageError, match="with replace"):
            backups.restore(NAMES[0], accept, no_progress, replaced=False)
        backups.restore(NAMES[0], accept, no_progress, replaced=True)
    with open_engine(settings) as engine:
        import_more(engine)  # the ledger lists no missing entries
    assert before <= archived(settings)
    assert before < after


def test_backups_are_listed_checked_and_removed(
    open_archive: Opener, place: str, import_more: Import
) -> None:
    def refuse(_: str) -> None:
        raise EngineError("it is wrong")

    with open_archive() as engine:
        backups = engine.backups(place)
        with pytest.raises(EngineError, match="no archive"):
            backups.make(NAMES[0], accept, no_progress)
        assert backups.names() == []
        engine.create()
        import_more(engine)
        for name in NAMES[:2]:
            backups.make(name, accept, no_progress)
        with pytest.raises(EngineError, match="it is wrong"):
            backups.make(NAMES[2], refuse, no_progress)
        assert backups.names() == list(NAMES[:2])
        backups.remove(NAMES[0])
        assert backups.names() == [NAMES[1]]


def test_a_missing_repository_is_said_with_how_to_register_it(
    open_archive: Opener, kind: str
) -> None:
    with open_archive() as engine:
        if kind == "embedded":
            assert engine.backups("nowhere").names() == []
        else:
            with pytest.raises(UsageError, match="curl -X PUT http"):
                engine.backups("nowhere").names()
            for place in ("", "/backups/nwx"):
                with pytest.raises(UsageError, match="not the name of a snapshot repository"):
                    restore_backup(engine, f"{place}/nope", accept, no_progress, replaced=False)
