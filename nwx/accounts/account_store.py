"""The accounts in a file: added, changed, removed, and asked at a login."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime

from nwx.accounts.account import Account, AccountError, check_account_name, is_account_name
from nwx.accounts.account_file import AccountFile
from nwx.accounts.passwords import check_password, hash_password, is_outdated, is_password
from nwx.engine.access.rules import Role
from nwx.values.timestamps import to_timestamp

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
