"""nwx mcp"""

from dataclasses import replace
from pathlib import Path

import click

from nwx.cli import option
from nwx.cli.restricted import is_unrestricted
from nwx.settings import Settings


@click.command("mcp")
@option.string("--user", "NAME", "Answer as this user may see the archive.  [nobody in particular]")
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
    audit: Path | None,
    rate_limit: float | None,
) -> None:
    """Let assistants search, read and quote the archive by MCP (nwx[mcp])."""
    from nwx.assistants.server import assistant_viewer, serve_stdio

    if rate_limit:
        settings = replace(settings, protection=replace(settings.protection, rate=rate_limit))
    viewer = assistant_viewer(user, sees_all=is_unrestricted())
    serve_stdio(settings, viewer, audit)
