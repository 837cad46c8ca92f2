"""Passwords and their hashes."""

import pytest

from nwx.accounts import passwords
from nwx.accounts.account import AccountError
from nwx.accounts.passwords import check_password, hash_password, is_outdated, is_password

PASSWORD = "correct horse 1"


def test_a_password_opens_its_hash_only() -> None:
    hashed = hash_password(PASSWORD)
    assert hashed.startswith("$argon2id$")
    assert hash_password(PASSWORD) != hashed
    assert is_password(hashed, PASSWORD)
    assert not is_password(hashed, PASSWORD + " ")
    assert not is_outdated(hashed)


def test_a_hash_is_computed_where_there_is_no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Hasher:
        def verify(self, hashed: str, password: bytes) -> bool:
            asked.append(hashed)
            return True

    nobody = passwords._hash_of_nobody()
    monkeypatch.setattr(passwords, "_hasher", Hasher())
    assert not is_password("", "nobody has this password")
    assert not is_password("", "x" * 2_000)
    assert asked == [nobody, nobody]


@pytest.mark.parametrize("hashed", ["no hash", "$argon2id$v=19$m=8,t=1,p=1$AAAA$", "$1$x$y"])
def test_a_damaged_hash_opens_nothing(hashed: str) -> None:
    assert not is_password(hashed, PASSWORD)


@pytest.mark.parametrize("password", ["short", "x" * 1_001, "a" * 12, "Long.Name.42"])
def test_weak_passwords_are_refused(password: str) -> None:
    with pytest.raises(AccountError):
        check_password(password, "long.name.42")


def test_other_passwords_are_taken() -> None:
    assert check_password("пароль из слов", "ada") == "пароль из слов"
