"""Checks of the accounts file."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

from nwx.access.account_store import USERS_FILE, account_file_path, is_account_name
from nwx.engine.access.rules import Role
from nwx.engine.base import is_server
from nwx.engine.embedded.folder_damage import database_faults
from nwx.engine.sqlite_files import connect_sqlite
from nwx.settings import Settings

AccountFault = tuple[str, str]
"""The path of the accounts file, or a row in it, and the message."""

_HASH_BYTES = 32
_ADVICE = "restore it from a backup"
_PASSWORD_HASH = re.compile(r"(\$argon2id\$v=\d+\$m=\d+,t=\d+,p=\d+\$[\w+/]+\$[\w+/]+)?", re.A)
_TIMESTAMP = re.compile(r"\d{14}", re.A)


def account_faults(settings: Settings) -> Iterator[AccountFault]:
    """Yield the damage of the accounts file, if there is one. It is only read."""
    if is_server(settings.engine) and not settings.users.file:
        return
    path = account_file_path(settings.engine, settings.users.file)
    if not path.exists():
        return
    faults = database_faults(path)
    if faults:
        yield str(path), f"is damaged ({'; '.join(faults)}); {_ADVICE}"
        return
    try:
        with closing(connect_sqlite(path, read_only=True)) as db:
            yield from _row_faults(db)
    except sqlite3.Error as error:
        yield str(path), f"cannot be read ({error}); {_ADVICE}"


def _row_faults(db: sqlite3.Connection) -> Iterator[AccountFault]:
    for name, is_valid in _CHECKS.items():
        for num, row in enumerate(db.execute(f"SELECT * FROM {name}"), 1):
            if not is_valid(*row):
                place = row[0] if name == "accounts" else num
                yield f"{USERS_FILE} {name} {place}", f"has an invalid value; {_ADVICE}"


def _is_account(name: object, role: object, password_hash: object, *times: object) -> bool:
    return (
        isinstance(name, str)
        and is_account_name(name)
        and role in tuple(Role)
        and _matches(_PASSWORD_HASH, password_hash)
        and all(_matches(_TIMESTAMP, time) for time in times)
    )


def _is_session(token_hash: object, name: object, proof: object, *times: object) -> bool:
    return (
        _is_hash(token_hash)
        and isinstance(name, str)
        and _is_hash(proof)
        and all(isinstance(time, int) for time in times)
    )


def _is_attempt(key: object, number: object, expires: object) -> bool:
    return isinstance(key, str) and isinstance(number, int) and isinstance(expires, float)


def _is_secret(name: object, value: object) -> bool:
    return isinstance(name, str) and _is_hash(value)


def _is_hash(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == _HASH_BYTES


def _matches(form: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None


_CHECKS: dict[str, Callable[..., bool]] = {
    "accounts": _is_account,
    "sessions": _is_session,
    "attempts": _is_attempt,
    "secrets": _is_secret,
}
"""Whether a row of a table has the form of what is stored, by table."""
