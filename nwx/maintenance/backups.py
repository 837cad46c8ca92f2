"""Backups of an archive: made, restored, verified, and limited in number."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

from nwx.bulk.progress import ShowProgress
from nwx.engine.base import Engine, open_engine
from nwx.engine.capabilities import Verify, accept
from nwx.errors import EngineError, UsageError
from nwx.maintenance.agreement import NO_FAULTS, check
from nwx.settings import Settings

_MOST_NAMED = 3


def back_up(
    engine: Engine, place: str, keep: int, verify: Verify | None, progress: ShowProgress
) -> str:
    """Make a backup at a place and return its path; with `keep`, remove all but the newest."""
    if not place:
        raise UsageError("the place of the backup is empty; name a folder or a repository")
    backups = engine.backups(place)
    name = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")[:-3]
    backups.make(name, verify or accept, progress)
    for old in backups.names()[:-keep] if keep else ():
        backups.remove(old)
    return f"{place.rstrip('/')}/{name}"


def restore_backup(
    engine: Engine, backup: str, verify: Verify, progress: ShowProgress, *, replaced: bool
) -> None:
    """Restore an archive from the backup at a path.

    Raises UsageError if there is none.
    """
    place, _, name = backup.rstrip("/").rpartition("/")
    backups = engine.backups(place)
    known = backups.names()
    if name not in known:
        newest = f"; the newest one there is {known[-1]}" if known else ""
        raise UsageError(
            f"{backup} is not a backup; write PLACE/NAME as printed by `nwx backup`{newest}"
        )
    backups.restore(name, verify, progress, replaced=replaced)


def checked(
    settings: Settings, progress: ShowProgress, address: str, *, read_only: bool = True
) -> None:
    """Check the archive at an address; raises EngineError if `nwx check` finds it wrong."""
    with open_engine(replace(settings, engine=address), read_only=read_only) as engine:
        found = (one for one in check(engine, progress) if one.kind not in NO_FAULTS)
        wrong = [f"{one.index} {one.id}: {one.message}" for one in islice(found, _MOST_NAMED)]
    if wrong:
        raise EngineError(f"the backup is inconsistent ({'; '.join(wrong)})")
