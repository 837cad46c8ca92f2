"""The names of accounts."""

import pytest

from nwx.access.account_store import Account, AccountError, check_account_name, is_account_name
from nwx.engine.access.rules import Role


@pytest.mark.parametrize("name", ["ada", "Ada.Lovelace", "ada@example.org", "ädä", "a" * 100])
def test_names_that_can_be(name: str) -> None:
    assert check_account_name(name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "ada b", "ada,admin", "a\nb", "a\x00", "a/b", "a" * 101, "‮ada"]
)
def test_names_that_cannot_be(name: str) -> None:
    assert not is_account_name(name)
    with pytest.raises(AccountError, match="is not a valid account name"):
        check_account_name(name)


def test_a_hash_is_not_printed() -> None:
    account = Account("ada", Role.READER, "$argon2id$secret")
    assert "secret" not in repr(account)
    assert account.has_password
