"""nwx users: accounts managed on the command line and used by the service."""

from pathlib import Path

from nwx.access.account_store import AccountFile, AccountStore
from nwx.access.user_options import user_options
from tests.cli.conftest import run_nwx
from webapp.server.service import ServiceSettings, login_risks

PASSWORD, OTHER = b"correct horse 1\n", b"battery staple 2\n"


def test_accounts_are_added_changed_listed_and_removed(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    missing = run_nwx(archive, "users", "list", code=2)
    assert "there are no accounts" in missing.err
    assert not archive.exists()
    added = run_nwx(
        archive, *"users add ada --role administrator --password-stdin".split(), stdin=PASSWORD
    )
    assert added.out == "added ada, administrator\n"
    run_nwx(archive, *"users add zoe --no-password".split())
    refused = run_nwx(archive, *"users add ADA --no-password".split(), code=2)
    assert "the account ada already exists" in refused.err
    weak = run_nwx(archive, *"users add bob --password-stdin".split(), stdin=b"short\n", code=2)
    assert "the password is too short" in weak.err
    empty = run_nwx(archive, *"users add bob --password-stdin".split(), stdin=b"\n", code=2)
    assert "the first line of standard input has no password" in empty.err
    run_nwx(archive, *"users role zoe curator".split())
    run_nwx(archive, *"users password ada --password-stdin".split(), stdin=OTHER)
    listed = run_nwx(archive, *"users list --json".split())
    assert [(one["name"], one["role"], one["has_password"]) for one in listed.json] == [
        ("ada", "administrator", True),
        ("zoe", "curator", False),
    ]
    assert "argon2" not in listed.out
    file = AccountFile(archive / "users.db")
    assert AccountStore(file).logged_in("ada", OTHER.decode().strip()) is not None
    file.close()
    assert run_nwx(archive, *"users remove ada".split()).out == "removed ada\n"
    shown = run_nwx(archive, *"users list".split()).out
    assert shown.startswith("zoe  curator ")
    assert shown.endswith("without a password\n")


def test_a_password_is_never_an_argument_and_a_server_needs_a_file(tmp_path: Path) -> None:
    asked = run_nwx(tmp_path, *"users add ada".split(), code=2)
    assert "--password-stdin" in asked.err
    weak = run_nwx(tmp_path, *"users add ada --password-stdin".split(), stdin=b"short\n", code=2)
    assert "too short" in weak.err
    assert not (tmp_path / "users.db").exists()
    on_server = run_nwx("http://localhost:1", *"users list".split(), code=2)
    assert "NWX_USERS_FILE" in on_server.err


def test_what_is_risky_about_logins_is_told() -> None:
    accounts = user_options("accounts")
    assert login_risks(ServiceSettings()) == []
    assert login_risks(ServiceSettings(users=accounts)) == []
    assert login_risks(ServiceSettings(host="0.0.0.0")) == []
    clear, shared = login_risks(ServiceSettings(host="0.0.0.0", users=accounts))
    assert "in the clear" in clear
    assert "--replay-host" in shared
    safe = ServiceSettings(
        host="0.0.0.0",
        users=accounts,
        search_url="https://archive.example",
        replay_url="https://replay.example",
    )
    assert login_risks(safe) == []
