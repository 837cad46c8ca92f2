"""nwx mcp"""

from dataclasses import replace
from pathlib import Path

import click

from nwx.cli import option
from nwx.cli.options import HOST_NAMES, LISTEN_HOST
from nwx.cli.output import clean
from nwx.cli.restricted import is_unrestricted
from nwx.settings import Settings


@click.command("mcp")
@option.string("--user", "NAME", "Answer as this user may see the archive.")
@option.value(
    "--http",
    click.IntRange(0, 65535),
    "PORT",
    "Listen at this port, 0 for a free one, in place of standard input.",
    into="port",
)
@LISTEN_HOST
@HOST_NAMES
@option.file_path(
    "--token-file",
    "--http: the tokens that may ask, a line each: TOKEN or USER TOKEN.  [a new one, printed]",
)
@option.file_path("--audit", "Add who asked what to FILE, as JSON lines.")
@option.above_zero(
    "--rate-limit",
    "N",
    "Tokens a second for each user; a question costs 10 or 20.  [NWX_RATE_LIMIT; no limit]",
)
@click.pass_obj
def command(
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
    """Let assistants search, read and quote the archive by MCP (nwx[mcp])."""
    from nwx.assistants.server import assistant_viewer, serve_stdio

    if rate_limit:
        settings = replace(settings, protection=replace(settings.protection, rate=rate_limit))
    viewer = assistant_viewer(user, sees_all=is_unrestricted())
    if port is None:
        serve_stdio(settings, viewer, audit)
        return
    from nwx.assistants.http import AssistantPlace, read_tokens, serve_http

    tokens = read_tokens(token_file)

    def ready(address: str) -> None:
        shown = "" if token_file else f" with the token {next(iter(tokens))}"
        click.echo(f"nwx answers assistants at {clean(address)}{shown} (Ctrl-C ends)")

    serve_http(settings, viewer, audit, AssistantPlace(host, port, host_names, tokens), ready)
