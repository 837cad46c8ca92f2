"""Logging in and editing access rules in a real browser; and a hostile page on another port."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from argon2 import PasswordHasher
from playwright.sync_api import Browser, Page, expect

from nwx.access import account_store
from nwx.access.account_store import AccountFile, AccountStore
from nwx.access.user_options import user_options
from nwx.engine.access.rules import AccessRule, Action, Role, Scope
from nwx.engine.embedded import EmbeddedEngine
from tests.web.archive import batch
from tests.web.axe import check_modes, load_axe
from tests.web.serving import serving
from webapp import create_app
from webapp.user_service import user_service

pytestmark = pytest.mark.xdist_group("browser")

PASSWORD = "correct horse 1"


@pytest.fixture
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """An archive for changing rules."""
    with EmbeddedEngine(tmp_path_factory.mktemp("users") / "archive") as engine:
        engine.create()
        engine.write(batch())
        engine.refresh()
        yield engine


@pytest.fixture
def service(
    engine: EmbeddedEngine,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    """The address of a service with an administrator."""
    monkeypatch.setattr(account_store, "_hasher", PasswordHasher(1, 8, 1))
    with ExitStack() as stack:
        file = AccountFile(tmp_path_factory.mktemp("accounts") / "users.db")
        stack.callback(file.close)
        AccountStore(file).add("ada", Role.ADMINISTRATOR, PASSWORD)
        users = user_service(user_options("accounts"), file)
        yield stack.enter_context(serving(create_app(engine, users=users)))


def _log_in(page: Page, service: str) -> None:
    page.goto(f"{service}/settings/access")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/settings/access")


def test_rules_are_kept_by_an_administrator(browser: Browser, service: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 320, "height": 700})
    page = context.new_page()
    _log_in(page, service)
    page.get_by_label("Action").select_option("embargo")
    page.get_by_label("What it applies to").fill("*.rule.example")
    page.get_by_label("Reason, shown to readers").fill("a contract")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Embargo: years after capture").fill("20")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("status")).to_contain_text("is stored")
    page.get_by_label("URL", exact=True).fill("http://www.rule.example/a")
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_role("status")).to_contain_text("embargo")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("status")).to_contain_text("removed")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("link", name="Log in")).to_be_visible()
    page.goto(f"{service}/settings/access")
    expect(page.get_by_label("Password")).to_be_visible()
    context.close()


def test_the_pages_are_for_everybody(
    browser: Browser, service: str, engine: EmbeddedEngine
) -> None:
    rule = AccessRule("", Action.EMBARGO, Scope(prefix="example,rule)/"), years=20, reason="a <b>")
    engine.access_index().put([rule], "ada")
    context = browser.new_context()
    load_axe(context)
    page = context.new_page()
    page.goto(f"{service}/login")
    check_modes(page)
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    check_modes(page)
    _log_in(page, service)
    for address in ("", "?url=http://rule.example/a", "?q=nothing", "/log"):
        page.goto(f"{service}/settings/access{address}")
        check_modes(page)
    page.goto(f"{service}/settings/access")
    page.get_by_label("Action").select_option("embargo")
    page.get_by_label("What it applies to").fill("*.rule.example")
    page.get_by_label("Reason, shown to readers").fill("a contract")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_be_visible()
    check_modes(page)
    context.close()


def _hostile(service: str) -> Callable[..., Iterable[bytes]]:
    """Return an application whose page attacks a service like a hostile archived page."""
    rule = "action=block&what=*&reason=x"
    page = f"""<!doctype html><title>hostile</title>
    <iframe name=f></iframe>
    <form id=rule method=post action='{service}/settings/access' target=f>
    <input name=action value=block><input name=what value='*'><input name=reason value=x></form>
    <form id=out method=post action='{service}/logout' target=f></form>
    <script>
    window.attack = async () => {{
      const seen = [document.cookie];
      document.getElementById('rule').submit();
      document.getElementById('out').submit();
      const post = {{method: 'POST', credentials: 'include', mode: 'no-cors', body:
        new URLSearchParams('{rule}')}};
      await fetch('{service}/settings/access', post);
      await fetch('{service}/settings/access', {{credentials: 'include'}}).then(
        async answer => seen.push(await answer.text()), () => seen.push('unread'));
      document.cookie = 'nwx_session=planted; path=/';
      seen.push(document.cookie);
      return seen;
    }};
    </script>"""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Type", "text/html")])
        return (page.encode(),)

    return answer


def test_a_page_at_another_port_of_the_host_changes_nothing(
    browser: Browser, service: str, engine: EmbeddedEngine
) -> None:
    context = browser.new_context()
    page = context.new_page()
    _log_in(page, service)
    with serving(_hostile(service)) as address:
        hostile = context.new_page()
        hostile.goto(address)
        assert hostile.evaluate("attack()") == ["", "unread", ""]
        hostile.wait_for_load_state("networkidle")
    assert engine.access_index().rules().rules == ()
    page.reload()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    context.close()
