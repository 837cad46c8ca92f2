"""nwx files"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import click

from nwx.cli.output import clean, json_text, size_words
from nwx.cli.restricted import open_for_reading
from nwx.engine.ledger import Claim, ClaimedFile
from nwx.model import UNREADABLE, SourceFile
from nwx.settings import Settings

_Claims = Mapping[tuple[str, str], Claim]


@click.command("files")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@click.pass_obj
def command(settings: Settings, as_json: bool) -> None:
    """List the imported files, those being imported, and those that could not be read.

    On a server the files that importers have now are shown with the host and
    the process of each.
    """

    with open_for_reading(settings) as engine:
        shared = engine.claims()
        # An entry of no collection is no file: an import that must be alone.
        held = [one for one in shared.held() if one.collection] if shared else []
        found = _with_begun(engine.files(), held)
    claims = {(one.collection, one.name): one.claim for one in held if one.claim}
    if as_json:
        for file in found:
            claim = claims.get((file.collection, file.name))
            click.echo(json_text(asdict(file) | {"claim": asdict(claim) if claim else None}))
        return
    _print(found, claims)


def _with_begun(files: Sequence[SourceFile], held: Sequence[ClaimedFile]) -> list[SourceFile]:
    """Return the files, and those that importers have but nothing was imported of yet."""
    known = {(file.collection, file.name) for file in files}
    begun = [
        SourceFile(one.collection, one.name, "", None, "")
        for one in held
        if (one.collection, one.name) not in known
    ]
    return sorted([*files, *begun], key=lambda file: (file.collection, file.name))


def _print(found: Sequence[SourceFile], claims: _Claims) -> None:
    from rich.table import Table
    from rich.text import Text

    from nwx.cli.tables.terminal_console import OneLine, console

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("collection")
    table.add_column("file")
    for heading in ("size", "captures", "errors"):
        table.add_column(heading, justify="right")
    table.add_column("state", no_wrap=True)
    for file in found:
        claim = claims.get((file.collection, file.name))
        table.add_row(
            Text(clean(file.collection)),
            OneLine(file.name),
            size_words(file.size),
            f"{file.counts.get('captures', 0):,}",
            f"{file.counts.get('errors', 0):,}",
            Text(clean(_state(file, claim))),
        )
    console().print(table)


def _state(file: SourceFile, claim: Claim | None) -> str:
    if claim and not file.finished:
        host, pid = (*claim.holder.split("/"), "")[:2]
        return f"at {file.done_to}, importing on {host} (process {pid})"
    if file.counts.get(UNREADABLE):
        return "unreadable"
    return "done" if file.finished else f"stopped at {file.done_to}"
