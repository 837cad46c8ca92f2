"""An empty account file, and cheap password hashes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from nwx.access import account_store
from nwx.access.account_store import AccountFile


@pytest.fixture
def file(tmp_path: Path) -> Iterator[AccountFile]:
    """A new account file."""
    found = AccountFile(tmp_path / "users.db")
    yield found
    found.close()


@pytest.fixture
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make password hashing take a millisecond."""
    monkeypatch.setattr(account_store, "_hasher", PasswordHasher(1, 8, 1))
    account_store._hash_of_nobody.cache_clear()
    yield
    account_store._hash_of_nobody.cache_clear()
