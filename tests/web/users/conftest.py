"""An application with accounts, and a client of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient

from nwx.access import account_store
from nwx.access.account_store import AccountFile, AccountStore
from nwx.access.user_options import UserOptions, user_options
from nwx.engine.access.rules import Role
from nwx.engine.base import Engine
from tests.web.users.logins import ACCESS_TOKEN, ADA, BOB, PASSWORD, ZOE, MakeApp
from webapp import create_app
from webapp.site.viewer import ProxyHeaders, viewer
from webapp.user_service import user_service


@pytest.fixture(autouse=True, scope="module")
def cheap_hashes() -> Iterator[None]:
    """Make password hashing take a millisecond."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(account_store, "_hasher", PasswordHasher(1, 8, 1))
        account_store._hash_of_nobody.cache_clear()
        yield
    account_store._hash_of_nobody.cache_clear()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[AccountFile]:
    """An account file with an administrator, a curator and a reader."""
    found = AccountFile(tmp_path / "users.db")
    store = AccountStore(found)
    store.add(ADA, Role.ADMINISTRATOR, PASSWORD)
    store.add(ZOE, Role.CURATOR, PASSWORD)
    store.add(BOB, Role.READER, PASSWORD)
    yield found
    found.close()


@pytest.fixture
def make_app(engine: Engine, file: AccountFile) -> MakeApp:
    """Creates applications with a given authentication, each like one of several workers."""

    def make(users: str = "accounts", trusted: tuple[str, ...] = (), search_url: str = "") -> Flask:
        options: UserOptions = user_options(users, trusted, ACCESS_TOKEN)
        app = create_app(
            engine,
            queue_token="queue-token",
            search_url=search_url,
            users=user_service(options, file) if options.has_users else None,
            proxies=ProxyHeaders(options.trusted_proxies, options.naming_proxies),
        )
        app.add_url_rule("/who", "who", _who)
        return app

    return make


def _who() -> dict[str, str]:
    found = viewer()
    return {"address": found.address, "user": found.user, "role": found.role.value}


@pytest.fixture
def client(make_app: MakeApp) -> FlaskClient:
    """A client of a service with accounts, not logged in."""
    return make_app().test_client()
