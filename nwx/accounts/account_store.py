"""Accounts and their passwords in a file: added, changed, removed, and asked at a login."""

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from nwx.accounts.account_file import AccountFile
from nwx.engine.access.rules import Role
from nwx.errors import UsageError
from nwx.values.timestamps import to_timestamp

__all__ = ["Role"]

MOST_NAME_CHARACTERS = 100
_NAME = re.compile(r"[^\s,;:\"'<>\\/|*?]+")


class AccountError(UsageError):
    """An account that cannot be: unknown, already there, of a wrong name or password."""


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
    """Return the name of an account; raises AccountError where it cannot be one."""
    if not is_account_name(name):
        raise AccountError.translated(
            "%(name)s cannot name an account; use up to %(most)s "
            "letters, digits and signs such as . - _ @, without blanks, commas or "
            "slashes",
            name=repr(name[:40]),
            most=MOST_NAME_CHARACTERS,
        )
    return name


LEAST_PASSWORD_CHARACTERS = 10
MOST_PASSWORD_CHARACTERS = 1_000
"""Longer ones would only cost time to hash."""

_hasher = PasswordHasher()


def check_password(password: str, name: str) -> str:
    """Return a password that an account may have; raises AccountError on weak ones."""
    if len(password) < LEAST_PASSWORD_CHARACTERS:
        raise AccountError.translated(
            "the password is short; use %(least)s or more signs", least=LEAST_PASSWORD_CHARACTERS
        )
    if len(password) > MOST_PASSWORD_CHARACTERS:
        raise AccountError.translated(
            "the password is longer than %(most)s signs", most=MOST_PASSWORD_CHARACTERS
        )
    if password.casefold() == name.casefold() or len(set(password)) < 4:
        raise AccountError.translated("the password is easy to guess; choose another")
    return password


def hash_password(password: str) -> str:
    """Return the hash of a password, with its salt and the cost of making it."""
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
    """Return whether a hash was made at another cost than hashes are now."""
    return _hasher.check_needs_rehash(password_hash)


@lru_cache(1)
def _hash_of_nobody() -> str:
    return hash_password("nobody has this password")


_COLUMNS = "name, role, password_hash, made_at, changed_at"


class AccountStore:
    """The accounts of a file. Names that differ in the case of letters only are one name."""

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
        """Add an account; "" gives it no password. Raises AccountError if it exists."""
        password_hash = hash_password(check_password(password, name)) if password else ""
        now = self._now()
        account = Account(check_account_name(name), role, password_hash, now, now)
        with self._file.changing() as db:
            if known := _found(db, name):
                raise AccountError.translated(
                    "there is an account %(name)s already; `nwx users role` and `nwx users "
                    "password` change it",
                    name=known.name,
                )
            row = (account.name, role.value, password_hash, now, now)
            db.execute(f"INSERT INTO accounts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)", row)
        return account

    def set_role(self, name: str, role: Role) -> Account:
        """Change the role of an account, which holds from its next request on."""
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
        """Return the account that a name and password open, None where they open none."""
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
    return _account(row) if row else None


def _required(db: sqlite3.Connection, name: str) -> Account:
    found = _found(db, name)
    if found is None:
        raise AccountError.translated(
            "there is no account %(name)s; `nwx users list` names all", name=repr(name[:100])
        )
    return found


def _account(row: tuple[str, str, str, str, str]) -> Account:
    return Account(row[0], Role(row[1]), *row[2:])


def _end_sessions(db: sqlite3.Connection, name: str) -> None:
    db.execute("DELETE FROM sessions WHERE name = ?", (name,))
