"""The file of accounts."""

import sqlite3
import stat
from pathlib import Path
from threading import Thread

import pytest

from nwx.accounts.account_file import AccountFile, account_file_path
from nwx.errors import EngineVersionError, SettingsError, SourceError


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


def test_where_it_is() -> None:
    assert account_file_path("archive") == Path("archive/users.db")
    assert account_file_path("http://es:9200", "/etc/nwx/users.db") == Path("/etc/nwx/users.db")
    with pytest.raises(SettingsError, match="NWX_USERS_FILE"):
        account_file_path("http://es:9200")
