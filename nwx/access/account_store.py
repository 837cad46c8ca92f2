"""Accounts, sessions and attempts in a SQLite file that all workers share; passwords."""

import os
import re
import secrets
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from nwx.engine.access.rules import Role
from nwx.engine.base import is_server
from nwx.engine.sqlite_files import connect_sqlite, transaction
from nwx.errors import EngineBusyError, EngineVersionError, SettingsError, SourceError, UsageError
from nwx.values.timestamps import to_timestamp

USERS_FILE = "users.db"
_FORMAT = 1
_SECRET_BYTES = 32
_OWNER_ONLY = 0o600
_WAIT_MILLISECONDS = 5_000  # a login waits for other writers; a page should not wait longer

_SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (
    name TEXT PRIMARY KEY COLLATE NOCASE, role TEXT NOT NULL, password_hash TEXT NOT NULL,
    made_at TEXT NOT NULL, changed_at TEXT NOT NULL) WITHOUT ROWID;
-- A session is stored by the hash of its token, so that the file contains no usable token.
-- `proof` is what the login was checked against: a session ends when that changes.
CREATE TABLE IF NOT EXISTS sessions (
    token_hash BLOB PRIMARY KEY, name TEXT NOT NULL, proof BLOB NOT NULL,
    began INTEGER NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    key TEXT PRIMARY KEY, number INTEGER NOT NULL, expires REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""


def account_file_path(engine: str, given: str = "") -> Path:
    """Return the path of the accounts file: the one given, or one in the archive's folder.

    Raises SettingsError for an archive on a server if none is given.
    """
    if given:
        return Path(given)
    if is_server(engine):
        raise SettingsError.translated(
            "the accounts of an archive on a server need a file; name one with "
            "--users-file or NWX_USERS_FILE"
        )
    return Path(engine) / USERS_FILE


class AccountFile:
    """The open accounts file; thread-safe. Created, readable by its owner only, if missing.

    Raises SourceError if it is unusable, also once it is deleted or another file takes its place:
    changes of accounts would not reach this one. Raises EngineVersionError if a newer version of
    nwx wrote it, EngineBusyError if another program holds it for longer than a few seconds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.RLock()
        self._db = self._opened()
        self._inode = self._current_inode()

    def _opened(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY))
            mode = self.path.stat().st_mode
        except OSError as error:
            raise self._unusable(error) from error
        if mode & stat.S_IRWXO:
            raise SourceError.translated(
                "every user of this machine can access %(path)s, and so log in as anybody; "
                "run `chmod o= %(path)s`",
                path=self.path,
            )
        with self._our_errors():
            db = connect_sqlite(self.path, [f"busy_timeout = {_WAIT_MILLISECONDS}"])
            try:
                self._prepare(db)
            except BaseException:
                db.close()
                raise
            return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found > _FORMAT:
            raise EngineVersionError.translated(
                "%(path)s was made by a newer version of nwx; update nwx", path=self.path
            )
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")  # attempts are counted often
        with transaction(db):
            for statement in _SCHEMA.split(";\n"):
                db.execute(statement)
            db.execute(
                "INSERT OR IGNORE INTO secrets VALUES ('sessions', ?)",
                (secrets.token_bytes(_SECRET_BYTES),),
            )
            db.execute(f"PRAGMA user_version = {_FORMAT}")

    def _current_inode(self) -> tuple[int, int]:
        """Return what identifies the file at the path."""
        try:
            found = self.path.stat()
        except OSError as error:
            raise self._unusable(error) from error
        return found.st_dev, found.st_ino

    def secret(self) -> bytes:
        """Return the key with which all workers sign and check cookies."""
        with self.reading() as db:
            row = db.execute("SELECT value FROM secrets WHERE name = 'sessions'").fetchone()
        if row is None:
            raise SourceError.translated(
                "%(path)s has no secret; restore it from a backup", path=self.path
            )
        return bytes(row[0])

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection, to one thread at a time."""
        with self._guard, self._our_errors():
            if self._current_inode() != self._inode:
                raise self._unusable("it was replaced after it was opened; restart the service")
            yield self._db

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection, and commit all changes of the block, or none."""
        with self.reading() as db, transaction(db):
            yield db

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise EngineBusyError.translated(
                    "another program holds the accounts file; try again in a moment"
                ) from error
            raise self._unusable(error) from error

    def _unusable(self, reason: object) -> SourceError:
        return SourceError.translated(
            "%(path)s cannot be used: %(reason)s", path=self.path, reason=reason
        )

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            self._db.close()


__all__ = ["Role"]

MOST_NAME_CHARACTERS = 100
_NAME = re.compile(r"[^\s,;:\"'<>\\/|*?]+")


class AccountError(UsageError):
    """An invalid account: unknown, existing already, or with an unusable name or password."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user account; without a password only a reverse proxy can authenticate it.

    Times are timestamps of 14 digits.
    """

    name: str
    role: Role
    password_hash: str = field(default="", repr=False)
    made_at: str = ""
    changed_at: str = ""

    @property
    def has_password(self) -> bool:
        """Return whether the account can log in with a password."""
        return bool(self.password_hash)


def is_account_name(name: str) -> bool:
    """Return whether a text is a valid account name."""
    return (
        0 < len(name) <= MOST_NAME_CHARACTERS
        and name.isprintable()
        and _NAME.fullmatch(name) is not None
    )


def check_account_name(name: str) -> str:
    """Return the name of an account; raises AccountError if it is invalid."""
    if not is_account_name(name):
        raise AccountError.translated(
            "%(name)s is not a valid account name; use up to %(most)s letters, digits and"
            " characters such as . - _ @, without spaces, commas or slashes",
            name=repr(name[:40]),
            most=MOST_NAME_CHARACTERS,
        )
    return name


LEAST_PASSWORD_CHARACTERS = 10
MOST_PASSWORD_CHARACTERS = 1_000
"""Longer ones would only cost time to hash."""

_hasher = PasswordHasher()


def check_password(password: str, name: str) -> str:
    """Return a password if it is acceptable; raises AccountError if it is weak."""
    if len(password) < LEAST_PASSWORD_CHARACTERS:
        raise AccountError.translated(
            "the password is too short; use at least %(least)s characters",
            least=LEAST_PASSWORD_CHARACTERS,
        )
    if len(password) > MOST_PASSWORD_CHARACTERS:
        raise AccountError.translated(
            "the password is longer than %(most)s characters", most=MOST_PASSWORD_CHARACTERS
        )
    if password.casefold() == name.casefold() or len(set(password)) < 4:
        raise AccountError.translated("the password is easy to guess; choose another")
    return password


def hash_password(password: str) -> str:
    """Return the hash of a password, with its salt and cost parameters."""
    return _hasher.hash(password.encode("utf-8", "surrogatepass"))


def is_password(password_hash: str, password: str) -> bool:
    """Return whether a password matches a hash.

    Takes as long for "", the hash of an account that does not exist or has no password, so that
    response times do not reveal which accounts have one.
    """
    known, nobody = bool(password_hash), _hash_of_nobody()
    if len(password) > MOST_PASSWORD_CHARACTERS:
        password, known = "", False
    try:
        same = _hasher.verify(password_hash or nobody, password.encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False
    return same and known


def is_outdated(password_hash: str) -> bool:
    """Return whether a hash has other cost parameters than new hashes."""
    return _hasher.check_needs_rehash(password_hash)


@lru_cache(1)
def _hash_of_nobody() -> str:
    return hash_password("nobody has this password")


_COLUMNS = "name, role, password_hash, made_at, changed_at"


class AccountStore:
    """The accounts of a file. Names are case-insensitive."""

    def __init__(
        self, file: AccountFile, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._file = file
        self._clock = clock

    def accounts(self) -> list[Account]:
        """Return all accounts by name."""
        with self._file.reading() as db:
            rows = db.execute(f"SELECT {_COLUMNS} FROM accounts ORDER BY name").fetchall()
        return [_account(row) for row in rows]

    def account(self, name: str) -> Account | None:
        """Return the account with a name, None if missing."""
        with self._file.reading() as db:
            return _found(db, name)

    def required(self, name: str) -> Account:
        """Return the account with a name. Raises AccountError if missing."""
        with self._file.reading() as db:
            return _required(db, name)

    def add(self, name: str, role: Role, password: str = "") -> Account:
        """Add an account, without a password for "". Raises AccountError if it exists."""
        password_hash = hash_password(check_password(password, name)) if password else ""
        now = self._now()
        account = Account(check_account_name(name), role, password_hash, now, now)
        with self._file.changing() as db:
            if known := _found(db, name):
                raise AccountError.translated(
                    "the account %(name)s already exists; `nwx users role` and `nwx users "
                    "password` change it",
                    name=known.name,
                )
            row = (account.name, role.value, password_hash, now, now)
            db.execute(f"INSERT INTO accounts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)", row)
        return account

    def set_role(self, name: str, role: Role) -> Account:
        """Change the role of an account, effective from its next request on."""
        with self._file.changing() as db:
            known = _required(db, name)
            db.execute(
                "UPDATE accounts SET role = ?, changed_at = ? WHERE name = ?",
                (role.value, self._now(), known.name),
            )
            return _required(db, name)

    def set_password(self, name: str, password: str) -> Account:
        """Change the password of an account, and end its sessions."""
        password_hash = hash_password(check_password(password, name))
        with self._file.changing() as db:
            known = _required(db, name)
            self._keep_hash(db, known.name, password_hash)
            _end_sessions(db, known.name)
            return _required(db, name)

    def remove(self, name: str) -> None:
        """Remove an account, and end its sessions."""
        with self._file.changing() as db:
            known = _required(db, name)
            db.execute("DELETE FROM accounts WHERE name = ?", (known.name,))
            _end_sessions(db, known.name)

    def logged_in(self, name: str, password: str) -> Account | None:
        """Return the account with a name and password, None if they do not match."""
        known = self.account(name)
        if not is_password(known.password_hash if known else "", password) or known is None:
            return None
        if is_outdated(known.password_hash):
            with self._file.changing() as db:
                self._keep_hash(db, known.name, hash_password(password))
                known = _required(db, known.name)
        return known

    def _keep_hash(self, db: sqlite3.Connection, name: str, password_hash: str) -> None:
        db.execute(
            "UPDATE accounts SET password_hash = ?, changed_at = ? WHERE name = ?",
            (password_hash, self._now(), name),
        )

    def _now(self) -> str:
        return to_timestamp(self._clock())


def _found(db: sqlite3.Connection, name: str) -> Account | None:
    if not is_account_name(name):
        return None
    row = db.execute(f"SELECT {_COLUMNS} FROM accounts WHERE name = ?", (name,)).fetchone()
    if row is None and not name.isascii():  # SQLite ignores the case of ASCII letters only
        rows = db.execute(f"SELECT {_COLUMNS} FROM accounts")
        row = next((one for one in rows if one[0].casefold() == name.casefold()), None)
    return _account(row) if row else None


def _required(db: sqlite3.Connection, name: str) -> Account:
    found = _found(db, name)
    if found is None:
        raise AccountError.translated(
            "there is no account %(name)s; `nwx users list` lists all", name=repr(name[:100])
        )
    return found


def _account(row: tuple[str, str, str, str, str]) -> Account:
    damaged = f"the account {row[0]!r} is damaged; restore the accounts file from a backup"
    with SourceError.instead_of(ValueError, damaged):
        return Account(row[0], Role(row[1]), *row[2:])


def _end_sessions(db: sqlite3.Connection, name: str) -> None:
    db.execute("DELETE FROM sessions WHERE name = ?", (name,))
