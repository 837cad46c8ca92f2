"""nwx access import and nwx access export"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, print_json
from nwx.cli.restricted import is_unrestricted
from nwx.errors import SourceError, UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.access.aclj import ReadRule
    from nwx.engine.access.rules import Action


_PROBLEMS_SHOWN = 20
_STANDARD_INPUT = "standard input"


@click.command("import")
@click.argument("file")
@option.choice_of(
    "--action",
    ["allow", "block", "exclude"],
    "FILE is a list of URLs and SURT prefixes, for all that begins with these.",
)
@option.string("--reason", "TEXT", "Why, where FILE does not say it.  [default: the name of FILE]")
@option.JSON
@click.pass_obj
def import_rules(
    settings: Settings, file: str, action: str | None, reason: str, as_json: bool
) -> int:
    """Add the rules in FILE (- is standard input): a .aclj file of pywb, or one of `export --json`.

    Rules that are known already stay as they are. Lines that are no rules are
    listed, the others are added, and the exit code is 1.
    """
    from nwx.cli.archive.access import command_user
    from nwx.engine.access.rules import Action
    from nwx.engine.open import open_engine

    place = _STANDARD_INPUT if file == STANDARD_INPUT else file
    read = _read(
        file, reason or f"imported from {Path(place).name}", Action(action) if action else None
    )
    problems = [each for each in read if each.rule is None]
    with open_engine(settings) as engine:
        access = engine.access_index()
        known = {rule.id for rule in access.rules().rules}
        stored = access.put([each.rule for each in read if each.rule], command_user())
    new = sum(rule.id not in known for rule in stored)
    if as_json:
        lines = [{"line": each.line, "problem": each.problem} for each in problems]
        print_json({"rules": len(stored), "new": new, "problems": lines})
    else:
        click.echo(f"{counted(len(stored), 'rule')} read, {new:,} new")
        for each in problems[:_PROBLEMS_SHOWN]:
            click.echo(f"{clean(place)}, line {each.line}: {clean(each.problem)}", err=True)
        if problems:
            click.echo(f"{counted(len(problems), 'line')} could not be read", err=True)
    return 1 if problems else 0


def _read(file: str, reason: str, action: "Action | None") -> "list[ReadRule]":
    from nwx.engine.access.aclj import rules_of_file

    if file == STANDARD_INPUT:
        return list(rules_of_file(sys.stdin.buffer, reason, action))
    try:
        with Path(file).open("rb") as stream:
            return list(rules_of_file(stream, reason, action))
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror or error}") from error


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@option.flag("--json", "Write all of each rule, as `nwx access import` reads.", into="as_json")
@click.pass_obj
def export_rules(settings: Settings, file: Path, as_json: bool) -> int:
    """Write the rules to FILE (- is standard output) as pywb reads them: .aclj.

    It names what is hidden, and so is run as nwx --unrestricted access export.
    Rules that pywb cannot hold (by digest, collection, file or address) are
    listed, the others are written, and the exit code is 1.
    """
    from nwx.engine.access.aclj import aclj_lines, own_line
    from nwx.engine.open import open_engine

    if not is_unrestricted():
        raise UsageError(
            "the file will name what is hidden; run it as nwx --unrestricted access export"
        )
    with open_engine(settings, read_only=True) as engine:
        rules = engine.access_index().rules().rules
    lines, unwritten = aclj_lines(() if as_json else rules, datetime.now(UTC))
    if as_json:
        lines = [own_line(rule) for rule in rules]
    _write(file, lines)
    for rule, reason in unwritten:
        click.echo(f"rule {rule.id} is not written: {reason}", err=True)
    return 1 if unwritten else 0


def _write(file: Path, lines: list[str]) -> None:
    from nwx.bulk.whole_files import whole_file

    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    if str(file) == STANDARD_INPUT:
        _written(sys.stdout.buffer, content)
        return
    with whole_file(file) as stream:
        _written(stream, content)


def _written(stream: BinaryIO, content: bytes) -> None:
    stream.write(content)
    stream.flush()
