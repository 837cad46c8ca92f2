"""nwx users"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from nwx.cli import option
from nwx.cli.options import USERS_FILE_OPTION
from nwx.cli.output import clean, counted, date_words, print_json
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.accounts.account_store import Account, AccountStore


_ROLES = ("reader", "curator", "administrator")
_ROLE = option.HintedChoice(_ROLES)
_NAME = click.argument("name")
_FROM_INPUT = option.flag(
    "--password-stdin", "Read the password from standard input.", into="from_input"
)


@click.group("users")
def command() -> None:
    """Keep the accounts of those who log in to the pages.

    A reader sees what access rules show. A curator sees everything, and edits
    crawl specifications. An administrator also changes access rules.
    `nwx serve --users accounts` lets them log in.
    """


@command.command("add")
@_NAME
@option.value("--role", _ROLE, None, "The role.", default="reader")
@option.flag(
    "--no-password", "Only for `nwx serve --users proxy=ADDRESS`: the proxy knows who it is."
)
@_FROM_INPUT
@USERS_FILE_OPTION
@click.pass_obj
def add_account(
    settings: Settings, name: str, role: str, no_password: bool, from_input: bool, users_file: str
) -> None:
    """Add an account; its password is asked for.

    A running service knows it at once.
    """
    from nwx.accounts.account_store import Role, check_account_name

    if no_password and from_input:
        raise UsageError("an account has either no password or one; drop one of the options")
    check_account_name(name)
    with _accounts(settings, users_file, make=True) as store:
        password = "" if no_password else _password(name, from_input=from_input)
        added = store.add(name, Role(role), password)
    click.echo(f"added {clean(added.name)}, {added.role}")


@command.command("list")
@option.JSON
@USERS_FILE_OPTION
@click.pass_obj
def list_accounts(settings: Settings, as_json: bool, users_file: str) -> None:
    """List the accounts."""
    with _accounts(settings, users_file) as store:
        found = store.accounts()
    if as_json:
        print_json([_as_json(account) for account in found])
        return
    width = max((len(account.name) for account in found), default=0)
    for account in found:
        how = "" if account.has_password else "  without a password"
        made = date_words(account.made_at)
        click.echo(f"{clean(account.name):{width}}  {account.role:13}  since {made}{how}")
    if not found:
        click.echo(f"{counted(0, 'account')}; `nwx users add NAME` adds one", err=True)


@command.command("password")
@_NAME
@_FROM_INPUT
@USERS_FILE_OPTION
@click.pass_obj
def change_password(settings: Settings, name: str, from_input: bool, users_file: str) -> None:
    """Change the password of an account, and log it out everywhere."""
    with _accounts(settings, users_file) as store:
        store.required(name)  # before a password is typed twice
        changed = store.set_password(name, _password(name, from_input=from_input))
    click.echo(f"changed the password of {clean(changed.name)}")


@command.command("role")
@_NAME
@click.argument("role", type=_ROLE)
@USERS_FILE_OPTION
@click.pass_obj
def change_role(settings: Settings, name: str, role: str, users_file: str) -> None:
    """Change the role of an account, from its next request on."""
    from nwx.accounts.account_store import Role

    with _accounts(settings, users_file) as store:
        changed = store.set_role(name, Role(role))
    click.echo(f"{clean(changed.name)} is {changed.role} now")


@command.command("remove")
@_NAME
@USERS_FILE_OPTION
@click.pass_obj
def remove_account(settings: Settings, name: str, users_file: str) -> None:
    """Remove an account, and log it out everywhere."""
    with _accounts(settings, users_file) as store:
        store.remove(name)
    click.echo(f"removed {clean(name)}")


@contextmanager
def _accounts(
    settings: Settings, users_file: str, *, make: bool = False
) -> "Iterator[AccountStore]":
    """Give the accounts of the file that is meant; it is made if that is wanted."""
    from nwx.accounts.account_store import (
        AccountError,
        AccountFile,
        AccountStore,
        account_file_path,
    )

    path = account_file_path(settings.engine, users_file or settings.users.file)
    if not (make or path.exists()):
        raise AccountError(f"there are no accounts at {path}; `nwx users add NAME` makes the file")
    file = AccountFile(path)
    try:
        yield AccountStore(file)
    finally:
        file.close()


def _password(name: str, *, from_input: bool) -> str:
    """Return the password that is typed twice, or the first line of standard input."""
    if from_input:
        if given := sys.stdin.readline().rstrip("\r\n"):
            return given
        raise UsageError("standard input has no password in its first line")
    if not sys.stdin.isatty():
        raise UsageError("a password is typed at a terminal; elsewhere, use --password-stdin")
    typed: str = click.prompt(
        f"Password of {clean(name)}", hide_input=True, confirmation_prompt="The same again"
    )
    return typed


def _as_json(account: "Account") -> dict[str, object]:
    return {
        "name": account.name,
        "role": account.role.value,
        "has_password": account.has_password,
        "made": account.made_at,
        "changed": account.changed_at,
    }
