"""Users of the complete service: workers share accounts, sessions and the cookie key."""

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from flask import Flask

from nwx.access import account_store
from nwx.access.account_store import AccountFile, AccountStore
from nwx.access.user_options import user_options
from nwx.engine.access.rules import Role
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import EngineError
from nwx.settings import Settings
from tests.web.archive import batch
from webapp.server.protection import SharedProtection
from webapp.server.service import PagesMaker, ServiceSettings, prepare_users_file

PASSWORD = "correct horse 1"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of a small archive."""
    monkeypatch.setattr(account_store, "_hasher", PasswordHasher(1, 8, 1))
    folder = tmp_path / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.create()
        engine.write(batch())
    return Settings(str(folder))


def _worker(stack: ExitStack, archive: Settings, users: str, *trusted: str) -> Flask:
    settings = ServiceSettings(
        replay=False,
        users=user_options(users, trusted),
        users_file=Path(archive.engine) / "users.db",
    )
    shared = SharedProtection.create(stack, settings.protection, 1)
    opened = PagesMaker(archive, settings, "127.0.0.1", None, shared).open(stack)
    assert isinstance(opened.application, Flask)
    return opened.application


def test_what_one_worker_begins_another_knows(archive: Settings) -> None:
    with ExitStack() as stack:
        file = AccountFile(Path(archive.engine) / "users.db")
        stack.callback(file.close)
        AccountStore(file).add("ada", Role.ADMINISTRATOR, PASSWORD)
        one, other = (_worker(stack, archive, "accounts").test_client() for _ in range(2))
        shown = one.get("/login")
        token = re.search(r'name="csrf_token" value="([^"]+)"', shown.text)
        cookie = one.get_cookie("nwx_session")
        assert token is not None
        assert cookie is not None
        other.set_cookie("nwx_session", cookie.value)
        form = {"csrf_token": token[1], "name": "ada", "password": PASSWORD}
        assert other.post("/login", data=form).status_code == 303
        begun = other.get_cookie("nwx_session")
        assert begun is not None
        one.set_cookie("nwx_session", begun.value)
        page = one.get("/settings/access")
        assert page.status_code == 200
        # Any worker can write rules, though the rest of the archive is read-only.
        token = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
        assert token is not None
        rule = {"action": "exclude", "what": "*", "reason": "x", "csrf_token": token[1]}
        assert one.post("/settings/access", data=rule).status_code == 303
        assert "all captures" in other.get("/settings/access").text


def test_without_users_no_file_of_accounts_is_made(archive: Settings) -> None:
    with ExitStack() as stack:
        client = _worker(stack, archive, "none").test_client()
        assert client.get("/login").status_code == 404
    assert not (Path(archive.engine) / "users.db").exists()


def test_an_archive_that_is_not_there_is_told_first(tmp_path: Path) -> None:
    settings = ServiceSettings(users=user_options("accounts"), users_file=tmp_path / "users.db")
    with pytest.raises(EngineError, match="no archive"):
        prepare_users_file(Settings(str(tmp_path / "none")), settings)
    assert not (tmp_path / "users.db").exists()
