"""What was looked up of an attached index, and the file that spares looking it up anew."""

import sqlite3
import zipfile
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nwx.engine.embedded.documents.stored_columns import Ints

_KEPT_NUMBERS = ("deletions", "last", "seen", "size")
_WORTH_KEEPING = 0.1
_PROBES = 64


@dataclass(frozen=True, slots=True)
class LookedUp:
    """Dates by the index's own numbers, and the archive's numbers for those.

    `rows` are rowid, number, timestamp and collection. `last` is the last
    number of an id that was read, `seen` the last row of dates, `size` the
    first number of the archive that was not known. That is so while
    nothing has been deleted from the index.
    """

    deletions: int
    last: int
    seen: int
    size: int
    rows: Ints
    numbers: Ints

    def is_worth_keeping(self, before: "LookedUp") -> bool:
        """Tell whether there is much that was not known before."""
        known = before.seen + before.size
        new = self.seen + self.size - known
        return before.deletions != self.deletions or new > _WORTH_KEEPING * (new + known)


def nothing(deletions: int) -> LookedUp:
    """Return what is known before anything was looked up."""
    none = np.zeros((0, 4), dtype=np.int64)
    return LookedUp(deletions, 0, 0, 0, none, np.zeros(1, dtype=np.int64))


def load_lookup(file: Path, db: sqlite3.Connection) -> LookedUp | None:
    """Return what a file holds, None where it was made of other databases than `db` joins."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as read:
            arrays = {name: read[name] for name in ("kept", "rows", "numbers", "probes")}
        numbers = dict(zip(_KEPT_NUMBERS, arrays["kept"].tolist(), strict=True))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    found = LookedUp(**numbers, rows=arrays["rows"], numbers=arrays["numbers"])
    return found if np.array_equal(_probes(db, found), arrays["probes"]) else None


def save_lookup(file: Path, db: sqlite3.Connection, found: LookedUp) -> None:
    """Write what was looked up to a file."""
    new = file.with_suffix(".new.npz")
    kept = np.array([getattr(found, name) for name in _KEPT_NUMBERS], dtype=np.int64)
    probes = _probes(db, found)
    np.savez(new, kept=kept, rows=found.rows, numbers=found.numbers, probes=probes)
    new.rename(file)


def _probes(db: sqlite3.Connection, found: LookedUp) -> npt.NDArray[np.uint8]:
    """Return some ids from either side, and the last date: other databases have others there.

    So a file that lies beside a database of yesterday, restored from a
    copy, is not taken for one of today.
    """
    digest = blake2b()
    for schema, last in (("main", found.last), ("archive", found.size - 1)):
        nums = np.unique(np.linspace(1, max(last, 1), _PROBES, dtype=np.int64)).tolist()
        places = ",".join("?" * len(nums))
        command = f"SELECT num, id FROM {schema}.ids WHERE num IN ({places}) ORDER BY num"
        digest.update(repr(db.execute(command, nums).fetchall()).encode())
    command = "SELECT num, timestamp, collection FROM main.seen WHERE rowid = ?"
    digest.update(repr(db.execute(command, (found.seen,)).fetchall()).encode())
    return np.frombuffer(digest.digest(), dtype=np.uint8)
