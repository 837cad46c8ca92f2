"""nwx serve, mcp and users"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.bulk.resources import usual_workers
from nwx.cli import option
from nwx.cli.options import (
    HOST_NAMES,
    LISTEN_HOST,
    LISTEN_PORT,
    PROTECTION,
    REDIS,
    SERVER_THREADS,
    SERVER_WORKERS,
    TRUSTED_PROXIES,
    USERS_FILE_OPTION,
    crawler_databases,
    protection_of,
)
from nwx.cli.output import clean, counted, date_words, is_unrestricted, print_json, warn
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.access.account_store import Account, AccountStore


@click.command("serve")
@LISTEN_HOST
@HOST_NAMES
@LISTEN_PORT
@SERVER_WORKERS
@SERVER_THREADS
@click.option("--replay/--no-replay", default=True, help="Serve playback too (default).")
@option.value(
    "--replay-port",
    click.IntRange(0, 65535),
    None,
    "Port of playback.  [default: the one after --port, or a free one]",
    default=0,
    show_default=False,
)
@option.web_address("--search-url", "Public address of the search page.")
@option.web_address("--replay-url", "Public address of playback.")
@option.string(
    "--replay-host",
    "NAME",
    "Host name for playback only.  [default: localhost if the search page is at 127.0.0.1]",
)
@option.repeated(
    "--cdx-source",
    "SOURCE",
    "Also answer CDX queries from SOURCE, as nwx cdx-server does.",
    into="cdx_sources",
)
@option.string("--cdx-token", "TEXT", "Token that allows writing captures.  [NWX_CDX_TOKEN]")
@option.repeated(
    "--cdx-origin",
    "ORIGIN",
    "Let pages of this origin read /cdx, such as https://replay.example; * for all.",
    into="cdx_origins",
)
@option.string(
    "--queue-token",
    "TEXT",
    "Token that allows using the crawler's queue at /urls.  [NWX_QUEUE_TOKEN]",
)
@option.seconds("--queue-delay", "Queue: seconds between two leases of a host.", default=1.0)
@option.whole_number(
    "--queue-in-flight",
    "N",
    "Queue: URLs of a host that are leased at the same time; 0 for any number.",
    default=1,
)
@option.above_zero(
    "--search-seconds", "SECONDS", "Time limit of a search.  [NWX_SEARCH_SECONDS; 10]"
)
@option.flag("--create", "Create an empty archive if there is none.")
@option.string(
    "--users",
    "HOW",
    help="How users are identified: none, accounts, token, or proxy=ADDRESS,… with names in"
    " X-Remote-User.  [NWX_USERS; none]",
)
@USERS_FILE_OPTION
@option.string(
    "--access-token", "TEXT", "--users token: the token of administrators.  [NWX_ACCESS_TOKEN]"
)
@TRUSTED_PROXIES
@PROTECTION
@REDIS
@option.string("--title", "TEXT", "Title of the archive on its pages.", default="nwx")
@click.pass_obj
def serve_command(
    settings: Settings,
    /,
    workers: int | None,
    cdx_token: str,
    queue_token: str,
    queue_delay: float,
    queue_in_flight: int,
    create: bool,
    search_seconds: float | None,
    users: str,
    users_file: str,
    access_token: str,
    trusted_proxies: tuple[str, ...],
    redis_port: int | None,
    **given: Any,
) -> None:
    """Serve the search page, the JSON API, the CDX server and playback.

    Runs until Ctrl-C. Playback has its own port, so that archived pages never share an
    origin with the search page. Cookies ignore ports, so playback also has its own host
    name where possible (--replay-host, which needs --search-url). Behind a reverse proxy,
    --search-url and --replay-url are the addresses that readers use.

    Without --users everybody is a reader, and writing needs a token. With it, curators and
    administrators log in; see docs/access.md.
    """
    if given["replay_host"] and not given["search_url"]:
        raise UsageError(
            "--replay-host needs --search-url, the address that playback links back to"
        )
    from nwx.access.account_store import account_file_path
    from nwx.access.user_options import user_options
    from nwx.steering.queue.queue_work import LeaseLimits
    from webapp.server.service import (
        ServiceAddresses,
        ServiceSettings,
        login_risks,
        prepare_archive,
        serve_pages,
    )

    def ready(addresses: ServiceAddresses) -> None:
        click.echo(f"nwx serves {clean(settings.engine)} at {addresses.search}/ (Ctrl-C ends)")
        if addresses.replay:
            click.echo(f"playback is at {addresses.replay}/")

    if create:
        prepare_archive(settings)
    kept = settings.users
    known = user_options(users or kept.users, trusted_proxies, access_token or kept.access_token)
    file = account_file_path(settings.engine, users_file or kept.file) if known.has_users else None
    service = ServiceSettings(
        redis=crawler_databases(settings, given, given["host"], redis_port, cdx_token),
        workers=workers or usual_workers(),
        cdx_token=cdx_token or settings.cdx_token,
        queue_token=queue_token or settings.queue_token,
        search_seconds=search_seconds or settings.search_seconds,
        queue_limits=LeaseLimits(queue_delay, queue_in_flight or None),
        users=known,
        users_file=file,
        protection=protection_of(settings, given),
        **given,
    )
    for risk in login_risks(service):
        warn(risk)
    serve_pages(settings, service, ready)


@click.command("mcp")
@option.string("--user", "NAME", "Answer with the access rights of this user.")
@option.value(
    "--http",
    click.IntRange(0, 65535),
    "PORT",
    "Listen on this port, 0 for a free one, instead of standard input.",
    into="port",
)
@LISTEN_HOST
@HOST_NAMES
@option.file_path(
    "--token-file",
    "--http: file of accepted tokens, one per line: TOKEN or USER TOKEN.  [a new one, printed]",
)
@option.file_path("--audit", "Append who asked what to FILE, as JSON lines.")
@option.above_zero(
    "--rate-limit",
    "N",
    "Tokens per second for each user; a question costs 10 or 20.  [NWX_RATE_LIMIT; no limit]",
)
@click.pass_obj
def mcp_command(
    settings: Settings,
    /,
    user: str,
    port: int | None,
    host: str,
    host_names: tuple[str, ...],
    token_file: Path | None,
    audit: Path | None,
    rate_limit: float | None,
) -> None:
    """Let assistants search, read and quote the archive over MCP (nwx[mcp])."""
    from nwx.assistants.server import assistant_viewer, serve_stdio

    if rate_limit:
        settings = replace(settings, protection=replace(settings.protection, rate=rate_limit))
    viewer = assistant_viewer(user, sees_all=is_unrestricted())
    if port is None:
        if token_file or host_names:
            raise UsageError("--token-file and --host-name need --http PORT")
        serve_stdio(settings, viewer, audit)
        return
    from nwx.assistants.http import AssistantPlace, read_tokens, serve_http

    tokens = read_tokens(token_file)

    def ready(address: str) -> None:
        shown = "" if token_file else f" with the token {next(iter(tokens))}"
        click.echo(f"nwx answers assistants at {clean(address)}{shown} (Ctrl-C ends)")

    serve_http(settings, viewer, audit, AssistantPlace(host, port, host_names, tokens), ready)


_ROLES = ("reader", "curator", "administrator")
_ROLE = option.HintedChoice(_ROLES)
_NAME = click.argument("name")
_FROM_INPUT = option.flag(
    "--password-stdin", "Read the password from standard input.", into="from_input"
)


@click.group("users")
def users_command() -> None:
    """Manage the accounts of users who log in to the pages.

    A reader sees what access rules show. A curator sees everything, and edits
    crawl specifications. An administrator also changes access rules.
    `nwx serve --users accounts` lets them log in.
    """


@users_command.command("add")
@_NAME
@option.value("--role", _ROLE, None, "Role of the account.", default="reader")
@option.flag(
    "--no-password", "Only for `nwx serve --users proxy=ADDRESS`: the proxy identifies the user."
)
@_FROM_INPUT
@USERS_FILE_OPTION
@click.pass_obj
def add_account(
    settings: Settings, name: str, role: str, no_password: bool, from_input: bool, users_file: str
) -> None:
    """Add an account, and prompt for its password.

    A running service accepts it at once.
    """
    from nwx.access.account_store import Role, check_account_name, check_password

    if no_password and from_input:
        raise UsageError("--no-password and --password-stdin are mutually exclusive")
    check_account_name(name)
    password = ""
    if not no_password:
        password = check_password(_password(name, from_input=from_input), name)
    # Created only now: a file without accounts would be left by Ctrl-C at the prompt.
    with _accounts(settings, users_file, make=True) as store:
        added = store.add(name, Role(role), password)
    click.echo(f"added {clean(added.name)}, {added.role}")


@users_command.command("list")
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


@users_command.command("password")
@_NAME
@_FROM_INPUT
@USERS_FILE_OPTION
@click.pass_obj
def change_password(settings: Settings, name: str, from_input: bool, users_file: str) -> None:
    """Change the password of an account, and log it out everywhere."""
    with _accounts(settings, users_file) as store:
        store.required(name)  # fails before the user types a password twice
        changed = store.set_password(name, _password(name, from_input=from_input))
    click.echo(f"changed the password of {clean(changed.name)}")


@users_command.command("role")
@_NAME
@click.argument("role", type=_ROLE)
@USERS_FILE_OPTION
@click.pass_obj
def change_role(settings: Settings, name: str, role: str, users_file: str) -> None:
    """Change the role of an account, from its next request on."""
    from nwx.access.account_store import Role

    with _accounts(settings, users_file) as store:
        changed = store.set_role(name, Role(role))
    click.echo(f"{clean(changed.name)} is now {changed.role}")


@users_command.command("remove")
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
    """Open the account file; with `make`, it is created if missing."""
    from nwx.access.account_store import (
        AccountError,
        AccountFile,
        AccountStore,
        account_file_path,
    )

    path = account_file_path(settings.engine, users_file or settings.users.file)
    if not (make or path.exists()):
        raise AccountError(
            f"there are no accounts at {path}; `nwx users add NAME` creates the file"
        )
    file = AccountFile(path)
    try:
        yield AccountStore(file)
    finally:
        file.close()


def _password(name: str, *, from_input: bool) -> str:
    """Read a password, typed twice, or from the first line of standard input."""
    if from_input:
        if given := sys.stdin.readline().rstrip("\r\n"):
            return given
        raise UsageError("the first line of standard input has no password")
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to type a password at; use --password-stdin")
    typed: str = click.prompt(
        f"Password of {clean(name)}", hide_input=True, confirmation_prompt="Repeat the password"
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
