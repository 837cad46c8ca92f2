"""Accounts added, changed and removed."""

import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest
from argon2 import PasswordHasher

from nwx.access import account_store
from nwx.access.account_store import (
    AccountError,
    AccountFile,
    AccountStore,
    account_file_path,
    check_password,
    hash_password,
    is_outdated,
    is_password,
)
from nwx.access.logins import AttemptCounts, SessionStore
from nwx.engine.access.rules import Role
from nwx.errors import EngineBusyError, EngineVersionError, SettingsError, SourceError

PASSWORD, OTHER = "correct horse 1", "battery staple 2"


@pytest.fixture
def store(file: AccountFile, cheap_hashes: None) -> AccountStore:
    """Accounts with a fixed clock."""
    return AccountStore(file, lambda: datetime(2026, 1, 2, tzinfo=UTC))


def test_accounts_are_kept(store: AccountStore) -> None:
    store.add("Zoe", Role.CURATOR)
    store.add("ada", Role.ADMINISTRATOR, PASSWORD)
    ada, zoe = store.accounts()
    assert (ada.name, ada.role, ada.has_password) == ("ada", Role.ADMINISTRATOR, True)
    assert (zoe.name, zoe.role, zoe.has_password) == ("Zoe", Role.CURATOR, False)
    assert ada.made_at == ada.changed_at == "20260102000000"
    assert store.account("ADA") == ada
    assert store.account("bob") is None
    assert store.account("\udcff") is store.logged_in("\udcff", PASSWORD) is None


def test_a_damaged_role_is_named(store: AccountStore, file: AccountFile) -> None:
    store.add("ada", Role.READER)
    with file.changing() as db:
        db.execute("UPDATE accounts SET role = 'readar'")
    with pytest.raises(SourceError, match=r"the account 'ada' is damaged; .*'readar'"):
        store.accounts()


def test_a_name_is_given_once(store: AccountStore) -> None:
    store.add("ada", Role.READER)
    with pytest.raises(AccountError, match="the account ada already exists"):
        store.add("ADA", Role.ADMINISTRATOR)
    emile = store.add("Émile", Role.READER, PASSWORD)
    assert store.logged_in("éMILE", PASSWORD) == emile
    with pytest.raises(AccountError, match="the account Émile already exists"):
        store.add("émile", Role.ADMINISTRATOR)


def test_names_and_passwords_are_checked(store: AccountStore) -> None:
    with pytest.raises(AccountError, match="not a valid account name"):
        store.add("a b", Role.READER)
    with pytest.raises(AccountError, match="short"):
        store.add("ada", Role.READER, "short")
    assert store.accounts() == []


def test_only_the_right_password_opens(store: AccountStore) -> None:
    added = store.add("ada", Role.READER, PASSWORD)
    store.add("by-proxy", Role.ADMINISTRATOR)
    assert store.logged_in("ada", PASSWORD) == added
    assert store.logged_in("ada", OTHER) is None
    assert store.logged_in("by-proxy", "") is None
    assert store.logged_in("by-proxy", "nobody has this password") is None
    assert store.logged_in("nobody", PASSWORD) is None


def test_roles_and_passwords_change(store: AccountStore, file: AccountFile) -> None:
    store.add("ada", Role.READER, PASSWORD)
    sessions = SessionStore(file)
    token = sessions.begin("ada", b"")
    assert store.set_role("Ada", Role.CURATOR).role is Role.CURATOR
    assert sessions.session(token) is not None
    store.set_password("Ada", OTHER)
    assert sessions.session(token) is None
    assert store.logged_in("ada", OTHER) is not None
    assert store.logged_in("ada", PASSWORD) is None


def test_what_is_removed_is_gone(store: AccountStore, file: AccountFile) -> None:
    store.add("ada", Role.READER, PASSWORD)
    token = SessionStore(file).begin("ada", b"")
    store.remove("ADA")
    assert store.accounts() == []
    assert SessionStore(file).session(token) is None
    for change in (store.remove, lambda name: store.set_role(name, Role.READER)):
        with pytest.raises(AccountError, match="there is no account 'ada'"):
            change("ada")


def test_a_login_brings_an_old_hash_up_to_date(
    store: AccountStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.add("ada", Role.READER, PASSWORD)
    monkeypatch.setattr(account_store, "_hasher", PasswordHasher(2, 16, 1))
    now = store.logged_in("ada", PASSWORD)
    assert now is not None
    assert now.password_hash != before.password_hash
    assert store.account("ada") == now
    assert store.logged_in("ada", PASSWORD) == now


_HASHED = "correct horse 1"


def test_a_password_opens_its_hash_only() -> None:
    hashed = hash_password(_HASHED)
    assert hashed.startswith("$argon2id$")
    assert hash_password(_HASHED) != hashed
    assert is_password(hashed, _HASHED)
    assert not is_password(hashed, _HASHED + " ")
    assert not is_outdated(hashed)


def test_a_hash_is_computed_where_there_is_no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Hasher:
        def verify(self, hashed: str, password: bytes) -> bool:
            asked.append(hashed)
            return True

    nobody = account_store._hash_of_nobody()
    monkeypatch.setattr(account_store, "_hasher", Hasher())
    assert not is_password("", "nobody has this password")
    assert not is_password("", "x" * 2_000)
    assert asked == [nobody, nobody]


@pytest.mark.parametrize("hashed", ["no hash", "$argon2id$v=19$m=8,t=1,p=1$AAAA$", "$1$x$y"])
def test_a_damaged_hash_opens_nothing(hashed: str) -> None:
    assert not is_password(hashed, _HASHED)


@pytest.mark.parametrize("password", ["short", "x" * 1_001, "a" * 12, "Long.Name.42"])
def test_weak_passwords_are_refused(password: str) -> None:
    with pytest.raises(AccountError):
        check_password(password, "long.name.42")


def test_other_passwords_are_taken() -> None:
    assert check_password("пароль из слов", "ada") == "пароль из слов"


def test_only_its_owner_can_read_it(file: AccountFile) -> None:
    for path in file.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_others_can_read_is_refused(file: AccountFile) -> None:
    file.path.chmod(0o644)
    with pytest.raises(SourceError, match=r"chmod o= .*users\.db"):
        AccountFile(file.path)
    file.path.chmod(0o640)
    AccountFile(file.path).close()


def test_all_workers_have_one_secret(file: AccountFile) -> None:
    secrets = [file.secret()]

    def open_again() -> None:
        other = AccountFile(file.path)
        secrets.append(other.secret())
        other.close()

    threads = [Thread(target=open_again) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(secrets) == 5
    assert len(set(secrets)) == 1
    assert len(secrets[0]) == 32


def test_files_have_secrets_of_their_own(file: AccountFile, tmp_path: Path) -> None:
    other = AccountFile(tmp_path / "b" / "users.db")
    assert other.secret() != file.secret()
    other.close()


def test_a_change_that_fails_is_none(file: AccountFile) -> None:
    with pytest.raises(SourceError, match="no such table"), file.changing() as db:
        db.execute("DELETE FROM secrets")
        db.execute("DELETE FROM unknown")
    assert file.secret()


def test_a_file_that_another_program_holds_is_busy_after_a_short_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_store, "_WAIT_MILLISECONDS", 10)
    path = tmp_path / "users.db"
    file = AccountFile(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(EngineBusyError, match="another program holds the accounts file"):
            AttemptCounts(file).incr("ada", 60)
    file.close()


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "users.db"
    path.touch(0o600)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(EngineVersionError, match="newer version"):
        AccountFile(path)


def test_what_is_no_file_of_accounts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "users.db").touch(0o600)
    (tmp_path / "users.db").write_text("this is no database" * 100)
    with pytest.raises(SourceError, match=r"users\.db cannot be used"):
        AccountFile(tmp_path / "users.db")
    with pytest.raises(SourceError, match="cannot be used"):
        AccountFile(tmp_path)


def test_a_file_that_was_deleted_or_replaced_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "users.db"
    file = AccountFile(path)
    path.rename(tmp_path / "moved.db")
    with pytest.raises(SourceError, match=r"users\.db cannot be used: .*No such file"):
        AccountStore(file).account("ada")
    (tmp_path / "moved.db").rename(path)
    assert AccountStore(file).account("ada") is None
    shutil.copy(path, tmp_path / "copy.db")
    (tmp_path / "copy.db").rename(path)
    with pytest.raises(SourceError, match=r"users\.db cannot be used: it was replaced"):
        AccountStore(file).account("ada")
    file.close()


def test_where_it_is() -> None:
    assert account_file_path("archive") == Path("archive/users.db")
    assert account_file_path("http://es:9200", "/etc/nwx/users.db") == Path("/etc/nwx/users.db")
    with pytest.raises(SettingsError, match="NWX_USERS_FILE"):
        account_file_path("http://es:9200")
