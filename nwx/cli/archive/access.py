"""nwx access"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from nwx.cli import option
from nwx.cli.output import (
    clean,
    command_user,
    counted,
    date_words,
    is_unrestricted,
    opened_archive,
    print_json,
    warn,
)
from nwx.errors import SourceError, UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.access.rule_requests import AccessChange, AccessRule, Decision


_ACTIONS = ("allow", "block", "exclude", "embargo", "local")
_PROBLEMS_SHOWN = 20
_STANDARD_INPUT = "standard input"
_HIDDEN = "(shown by nwx --unrestricted access)"
_NARROWING = option.option_set(
    option.string("--collection", "NAME", "Of this collection."),
    option.string("--digest", "DIGEST", "With this payload."),
    option.string("--file", "NAME", "From this archive file."),
)


@click.group("access")
def command() -> None:
    """Manage access rules: which captures may be shown, to whom and from when.

    If several rules match a capture, the most specific one decides: by digest, exact URL,
    longer SURT prefix (hosts and domains count as prefixes), archive file, collection, all;
    among equals one with dates, then one that names the viewer, then the stricter one. What
    a rule hides is shown only with nwx --unrestricted.
    """


@command.command("add")
@click.argument("action", type=option.HintedChoice(_ACTIONS))
@click.argument("what", default="")
@_NARROWING
@option.string("--from", "DATE", "Captured from this date on.", into="from_")
@option.string("--to", "DATE", "Captured until this date.")
@option.string("--until", "DATE", "Embargo: shown from this date on.")
@option.value("--years", click.INT, "N", "Embargo: shown N years after capture.")
@option.repeated("--user", "NAME", "For this user; repeatable.", into="users")
@option.repeated(
    "--address",
    "NETWORK",
    "For viewers in this network (10.0.0.0/8); repeatable.",
    into="addresses",
)
@click.option("--reason", required=True, metavar="TEXT", help="Why; shown to readers.")
@option.JSON
@click.pass_obj
def add_rule(settings: Settings, /, as_json: bool, **given: Any) -> None:
    """Add a rule: ACTION is allow, block, exclude, embargo or local.

    WHAT is `http://example.com/a` (exactly this URL), `http://example.com/a*` (all URLs
    that begin with it), `example.com` (a host), `*.example.com` (a domain),
    `com,example)/a` (a SURT prefix), `sha1:...` (a digest), `crawl.warc.gz` (an archive
    file) or `*` (all captures). Options narrow it down.

    exclude: as if never captured. block: not listed, and status 451 at its own address.
    embargo: a block until a date, or for some years after each capture. local: a block
    except for the users and addresses named. Other rules that name viewers apply only to
    these.
    """
    with opened_archive(settings) as archive:
        stored = archive.add_rule(**given, by=command_user())
    if as_json:
        print_json(_rule_json(stored, is_shown=True))
    else:
        click.echo(f"{stored.id}: {_action_words(stored)}, {clean(_scope_words(stored))}")


@command.command("list")
@option.JSON
@click.pass_obj
def list_rules(settings: Settings, as_json: bool) -> None:
    """List the rules, without the scope of those that hide captures.

    nwx --unrestricted access list shows every scope.
    """
    with opened_archive(settings) as archive:
        rules = archive.rules()
    if as_json:
        print_json([_rule_json(rule) for rule in rules])
    elif rules:
        headings = ("id", "action", "about", "reason", "made", "by")
        _print(headings, [_rule_cells(rule) for rule in rules])
    else:
        click.echo("no access rules; `nwx access add` adds one")


def _rule_cells(rule: "AccessRule") -> tuple[str, ...]:
    about = _scope_words(rule) if _is_shown(rule) else _HIDDEN
    made = date_words(rule.made_at)
    return (rule.id, _action_words(rule), about, rule.reason, made, rule.made_by)


def _is_shown(rule: "AccessRule") -> bool:
    return is_unrestricted() or rule.action == "allow" or rule.scope.is_everything


def _rule_json(rule: "AccessRule", *, is_shown: bool = False) -> dict[str, Any]:
    from nwx.access.rule_requests import rule_values

    return rule_values(rule, is_shown=is_shown or _is_shown(rule))


def _action_words(rule: "AccessRule") -> str:
    words = [str(rule.action)]
    if rule.until:
        words.append(f"until {date_words(rule.until)}")
    if rule.years is not None:
        words.append(f"{counted(rule.years, 'year')} after capture")
    if rule.names_viewers:
        words.append(f"for {', '.join((*rule.users, *rule.addresses))}")
    if rule.purged:
        words.append("and purged")
    return clean(" ".join(words))


def _scope_words(rule: "AccessRule") -> str:
    from nwx.access.rule_requests import scope_words

    return scope_words(rule.scope)


def _print(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from nwx.cli.terminal import print_table  # help needs no rich

    print_table(headings, rows)


@command.command("remove")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@option.JSON
@click.pass_obj
def remove_rules(settings: Settings, ids: Sequence[str], as_json: bool) -> None:
    """Remove rules by their ids, as `nwx access list` prints them; the log keeps them.

    A warning names those that kept purged captures out of imports.
    """
    with opened_archive(settings) as archive:
        removed, purged = archive.remove_rules(ids, command_user())
    if as_json:
        print_json({"removed": removed, "purged": purged})
    else:
        click.echo(f"{counted(removed, 'rule')} removed")
    for id in purged:
        warn(
            f"rule {id} kept purged captures out; imports of further files add them again, visible"
            " to everybody; files already in the archive are not read again"
        )


@command.command("test")
@click.argument("url")
@_NARROWING
@option.string("--date", "DATE", "Date of the capture.  [default: now]")
@option.string("--user", "NAME", "User who asks.")
@option.string("--address", "ADDRESS", "Address of the user.")
@option.JSON
@click.pass_obj
def check_url(settings: Settings, /, url: str, as_json: bool, **given: Any) -> None:
    """Show which rule applies to a capture of URL, and its decision.

    The capture need not exist. With nwx --unrestricted, the captures of URL are also listed
    with their rules.
    """
    with opened_archive(settings) as archive:
        found = archive.decide(url, **given)
    if as_json:
        listed = [
            {"timestamp": when, "collection": of, **_decision_json(said)}
            for when, of, said in found.captures
        ]
        print_json({"url": url, **_decision_json(found.decision), "captures": listed})
        return
    click.echo(_decision_words(found.decision))
    for when, collection, said in found.captures:
        click.echo(f"  {when} {clean(collection)}: {_decision_words(said)}")


def _decision_json(decision: "Decision") -> dict[str, Any]:
    rule = decision.rule
    return {
        "action": str(decision.action),
        "rule": _rule_json(rule, is_shown=True) if rule else None,
    }


def _decision_words(decision: "Decision") -> str:
    rule = decision.rule
    if rule is None:
        return "allow: no rule hides it"
    reason = f": {rule.reason}" if rule.reason else ""
    return clean(f"{decision.action}, by rule {rule.id} ({_scope_words(rule)}){reason}")


@command.command("log")
@option.count("--limit", None, "Number of entries.", default=50)
@option.value(
    "--offset", click.IntRange(0), None, "Skip the first N entries.", default=0, show_default=False
)
@option.JSON
@click.pass_obj
def show_log(settings: Settings, limit: int, offset: int, as_json: bool) -> None:
    """Show who changed which rules, latest first; no command changes the log."""
    with opened_archive(settings) as archive:
        changes = archive.rule_changes(limit, offset)
    if as_json:
        print_json([_change_json(change) for change in changes])
    elif changes:
        headings = ("when", "by", "change", "id", "action", "about", "reason")
        _print(headings, [_change_cells(change) for change in changes])
    else:
        click.echo("the access rules of this archive were never changed")


def _change_json(change: "AccessChange") -> dict[str, Any]:
    rule = _rule_json(change.rule)
    return {"at": change.at, "by": change.by, "change": str(change.kind), "rule": rule}


def _change_cells(change: "AccessChange") -> tuple[str, ...]:
    id, action, about, reason, *_ = _rule_cells(change.rule)
    when = f"{date_words(change.at)} {change.at[8:10]}:{change.at[10:12]}"
    return (when, change.by, str(change.kind), id, action, about, reason)


@command.command("import")
@click.argument("file")
@option.choice_of(
    "--action",
    ["allow", "block", "exclude"],
    "Apply this action to the URLs and SURT prefixes listed in FILE.",
)
@option.string(
    "--reason", "TEXT", "Reason for rules that have none in FILE.  [default: the name of FILE]"
)
@option.string("--collection", "NAME", "Apply the rules to this collection only.")
@option.JSON
@click.pass_obj
def import_rules(
    settings: Settings, file: str, action: str | None, reason: str, collection: str, as_json: bool
) -> int:
    """Add the rules in FILE (- is standard input): a .aclj file of pywb, or one of `export --json`.

    Existing rules are not changed. Invalid lines are reported, the others are added, and
    the exit code is 1.
    """
    place = _STANDARD_INPUT if file == STANDARD_INPUT else file
    reason = reason or f"imported from {Path(place).name}"
    with _opened(file) as stream, opened_archive(settings) as archive:
        found = archive.load_rules(stream, reason, action, command_user(), collection)
    if as_json:
        lines = [{"line": each.line, "problem": each.problem} for each in found.problems]
        print_json({"rules": found.rules, "new": found.new, "problems": lines})
    else:
        click.echo(f"{counted(found.rules, 'rule')} read, {found.new:,} new")
        for each in found.problems[:_PROBLEMS_SHOWN]:
            click.echo(f"{clean(place)}, line {each.line}: {clean(each.problem)}", err=True)
        if found.problems:
            click.echo(f"{counted(len(found.problems), 'line')} could not be read", err=True)
    return 1 if found.problems else 0


def _opened(file: str) -> "BinaryIO":
    from nwx.bulk.whole_files import standard_input

    if file == STANDARD_INPUT:
        return standard_input()
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror or error}") from error


@command.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@option.flag("--json", "Write complete rules as JSON, for `nwx access import`.", into="as_json")
@click.pass_obj
def export_rules(settings: Settings, file: Path, as_json: bool) -> int:
    """Write the rules to FILE (- is standard output) in pywb's format, .aclj.

    The file names what is hidden, so run it as nwx --unrestricted access export. Rules that
    pywb cannot express (by digest, collection, file or address) are reported, the others
    are written, and the exit code is 1.
    """
    from nwx.access.rule_requests import rule_lines

    if not is_unrestricted():
        raise UsageError(
            "the file names what is hidden; run it as nwx --unrestricted access export"
        )
    with opened_archive(settings) as archive:
        lines, unwritten = rule_lines(archive.rules(), whole=as_json)
    _write(file, lines)
    for id, reason in unwritten:
        click.echo(f"rule {id} was not written: {reason}", err=True)
    return 1 if unwritten else 0


def _write(file: Path, lines: list[str]) -> None:
    from nwx.bulk.whole_files import whole_file

    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    if str(file) == STANDARD_INPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with whole_file(file) as stream:
        stream.write(content)
