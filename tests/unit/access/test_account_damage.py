"""Damage of the accounts file."""

from pathlib import Path

import pytest

from nwx.access.account_damage import account_faults
from nwx.access.account_store import AccountFile, AccountStore
from nwx.access.logins import AttemptCounts, SessionStore
from nwx.engine.access.rules import Role
from nwx.settings import Settings, UserSettings


def _faults(file: AccountFile) -> list[tuple[str, str]]:
    return list(account_faults(Settings(engine=str(file.path.parent))))


@pytest.fixture
def filled(file: AccountFile, cheap_hashes: None) -> AccountFile:
    """A file with a row in each table."""
    accounts = AccountStore(file)
    accounts.add("ada", Role.ADMINISTRATOR, "correct horse 1")
    accounts.add("zoe", Role.READER)
    SessionStore(file).begin("ada", b"p" * 32)
    AttemptCounts(file).incr("address", 60)
    return file


def test_a_whole_file_has_no_faults(filled: AccountFile) -> None:
    assert _faults(filled) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE accounts SET role = 'readar' WHERE name = 'zoe'",
        "UPDATE accounts SET password_hash = '$argon2xd$' WHERE name = 'zoe'",
        "UPDATE accounts SET made_at = '2026' WHERE name = 'zoe'",
        "UPDATE sessions SET proof = 'text'",
        "UPDATE sessions SET seen = 'text'",
        "UPDATE attempts SET number = 'text'",
        "UPDATE secrets SET value = x'00'",
    ],
)
def test_values_are_checked(filled: AccountFile, change: str) -> None:
    with filled.changing() as db:
        db.execute(change)
    ((place, message),) = _faults(filled)
    assert place.startswith(f"users.db {change.split()[1]} ")
    assert message == "has an invalid value; restore it from a backup"


def test_damaged_pages_are_reported(filled: AccountFile) -> None:
    filled.close()
    content = filled.path.read_bytes()
    filled.path.write_bytes(content[: len(content) // 2])
    ((place, message),) = _faults(filled)
    assert place == str(filled.path)
    assert message.startswith("is damaged (")


def test_a_missing_file_is_not_made(tmp_path: Path) -> None:
    named = tmp_path / "named.db"
    for engine, file in ((str(tmp_path), ""), ("http://localhost:1", ""), ("x", str(named))):
        assert not list(account_faults(Settings(engine=engine, users=UserSettings(file=file))))
    assert not list(tmp_path.iterdir())
