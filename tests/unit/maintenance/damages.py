"""Deliberate damage to the files and tables of an archive."""

import gzip
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from tests.conformance.planted import HOME, SHOWN, resource

Damaging = Callable[[Path], None]


def only(folder: Path, pattern: str) -> Path:
    """Return the largest file matching a pattern."""
    return max(folder.glob(pattern), key=lambda path: path.stat().st_size)


def sql(statement: str, file: str = "archive.sqlite", tables: Sequence[str] = ("",)) -> Damaging:
    """Change rows in one or several SQLite tables."""

    def damage(folder: Path) -> None:
        with closing(sqlite3.connect(only(folder / "archive", file))) as db:
            db.execute("PRAGMA synchronous = OFF")
            for table in tables:
                assert db.execute(statement.format(table)).rowcount
            db.commit()

    return damage


def without_trigger(statement: str) -> Damaging:
    """Change the log of the access index, bypassing the triggers that protect it."""

    def damage(folder: Path) -> None:
        for event in ("UPDATE", "DELETE"):
            sql(f"DROP TRIGGER log_stays_{event}", "access.db")(folder)
        sql(statement, "access.db")(folder)

    return damage


def flipped(pattern: str, share: float = 0.5) -> Damaging:
    """Flip a bit in a file."""

    def damage(folder: Path) -> None:
        path = only(folder, pattern)
        content = bytearray(path.read_bytes())
        content[int(len(content) * share)] ^= 1
        path.write_bytes(content)

    return damage


def truncated(pattern: str) -> Damaging:
    """Truncate a file in the middle."""

    def damage(folder: Path) -> None:
        path = only(folder, pattern)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


def missing(pattern: str) -> Damaging:
    """Delete a file."""
    return lambda folder: only(folder, pattern).unlink()


def foreign(pattern: str, other: str) -> Damaging:
    """Replace a file by another one."""

    def damage(folder: Path) -> None:
        source = min(folder.glob(other), key=lambda path: path.stat().st_size)
        shutil.copy(source, only(folder, pattern))

    return damage


def in_database(file: str, text: str) -> Damaging:
    """Change a letter of a text stored in an SQLite file."""

    def damage(folder: Path) -> None:
        path = folder / "archive" / file
        content = path.read_bytes()
        at = content.rindex(text.encode())
        path.write_bytes(content[:at] + b"~" + content[at + 1 :])

    return damage


def rewritten(folder: Path) -> None:
    """Replace a record by that of another page."""
    path = folder / "quarry.warc.gz"
    records = [gzip.compress(one, 6, mtime=0) for one in SHOWN]
    other = resource(HOME, "2010-01-01T00:00:00Z", b"other", "text/html")
    path.write_bytes(gzip.compress(other) + path.read_bytes()[len(records[0]) :])


def appended(folder: Path) -> None:
    """Append the record of another page."""
    record = resource(f"{HOME}late", "2015-01-01T00:00:00Z", b"late", "text/html")
    with (folder / "quarry.warc.gz").open("ab") as file:
        file.write(gzip.compress(record))
