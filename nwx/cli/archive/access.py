"""nwx access"""

import os
import pwd
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.archive.access_files import export_rules, import_rules
from nwx.cli.output import clean, counted, date_words, print_json, warn
from nwx.cli.restricted import is_unrestricted
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.access.decisions import Decision
    from nwx.engine.access.planned_changes import AccessChange
    from nwx.engine.access.rules import AccessRule, Scope
    from nwx.engine.base import Engine


_ACTIONS = ("allow", "block", "exclude", "embargo", "local")
_COLLECTION = option.string("--collection", "NAME", "Of this collection.")
_DIGEST = option.string("--digest", "DIGEST", "With this payload.")
_FILE = option.string("--file", "NAME", "From this archive file.")
_HIDDEN = "(nwx --unrestricted access shows it)"


@click.group("access")
def command() -> None:
    """Keep the access rules: which captures may be shown, to whom and from when.

    Of the rules that are about a capture the most specific one decides: by
    digest, exact URL, longer SURT prefix (hosts and domains are such), archive
    file, collection, all; of those alike one with dates, then one that names
    the viewer, then the stricter one. What a rule hides is named only after
    nwx --unrestricted.
    """


command.add_command(import_rules)
command.add_command(export_rules)


def _opened(settings: Settings, *, read_only: bool = False) -> "Engine":
    from nwx.engine.open import open_engine

    return open_engine(settings, read_only=read_only)


def command_user() -> str:
    """Return the name of the user who runs the command, as the log of changes has it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


@command.command("add")
@click.argument("action", type=click.Choice(_ACTIONS))
@click.argument("what", default="")
@_COLLECTION
@_DIGEST
@_FILE
@option.string("--from", "DATE", "Captured from this date on.", into="since")
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
def add_rule(settings: Settings, /, what: str, as_json: bool, **given: Any) -> None:
    """Add a rule: ACTION is allow, block, exclude, embargo or local.

    WHAT is `http://example.com/a` (exactly this URL), `http://example.com/a*`
    (all that begins so), `example.com` (a host), `*.example.com` (a domain),
    `com,example)/a` (a SURT prefix), `sha1:...` (a digest), `crawl.warc.gz` (an
    archive file) or `*` (all captures). Options narrow it down.

    exclude: as if it were not there. block: in no list, and 451 at its own
    address. embargo: a block until a date, or for years after each capture.
    local: a block but for the users and addresses named. Other rules that name
    viewers are about these only.
    """
    rule = _rule(what, **given)
    with _opened(settings) as engine:
        (stored,) = engine.access_index().put([rule], command_user())
    if as_json:
        print_json(_rule_json(stored, is_shown=True))
    else:
        click.echo(f"{stored.id}: {_action_words(stored)}, {clean(_scope_words(stored))}")


def _rule(what: str, **given: Any) -> "AccessRule":
    from nwx.engine.access.rules import AccessRule, Action
    from nwx.engine.access.scope_texts import between

    scope = _scope(what, given["collection"], given["digest"], given["file"])
    if not what and scope.is_everything and not (given["since"] or given["to"]):
        raise UsageError("say what the rule is about; * is all captures")
    return AccessRule(
        "",
        Action(given["action"]),
        between(scope, given["since"], given["to"]),
        until=given["until"],
        years=given["years"],
        users=given["users"],
        addresses=given["addresses"],
        reason=given["reason"],
    )


def _scope(what: str, collection: str, digest: str, file: str) -> "Scope":
    from nwx.engine.access.rules import Scope
    from nwx.engine.access.scope_texts import digest_scope, scope_of

    scope = scope_of(what) if what else Scope()
    return replace(
        scope,
        collection=collection,
        digest=digest_scope(digest).digest if digest else scope.digest,
        source_file=file.rpartition("/")[2] or scope.source_file,
    )


@command.command("list")
@option.JSON
@click.pass_obj
def list_rules(settings: Settings, as_json: bool) -> None:
    """List the rules; those that hide captures without what they are about.

    nwx --unrestricted access list shows all of them.
    """
    with _opened(settings, read_only=True) as engine:
        rules = engine.access_index().rules().rules
    if as_json:
        print_json([_rule_json(rule) for rule in rules])
    elif rules:
        headings = ("id", "action", "about", "reason", "made", "by")
        _print_table(headings, [_rule_cells(rule) for rule in rules])
    else:
        click.echo("no access rules; `nwx access add` adds one")


def _rule_cells(rule: "AccessRule") -> tuple[str, ...]:
    about = _scope_words(rule) if _is_shown(rule) else _HIDDEN
    made = date_words(rule.made_at)
    return (rule.id, _action_words(rule), about, rule.reason, made, rule.made_by)


def _is_shown(rule: "AccessRule") -> bool:
    return is_unrestricted() or rule.action == "allow" or rule.scope.is_everything


def _rule_json(rule: "AccessRule", *, is_shown: bool = False) -> dict[str, Any]:
    from nwx.engine.access.aclj import rule_object

    found = rule_object(rule)
    if is_shown or _is_shown(rule):
        return found
    named = ("url", "prefix", "digest", "source_file")
    return {name: value for name, value in found.items() if name not in named} | {"hidden": True}


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
    from nwx.engine.access.scope_texts import scope_words

    return scope_words(rule.scope)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from nwx.cli.terminal import console

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    console().print(table)


@command.command("remove")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@option.JSON
@click.pass_obj
def remove_rules(settings: Settings, ids: Sequence[str], as_json: bool) -> None:
    """Remove rules by their ids, as `nwx access list` prints them; the log keeps them.

    A warning tells which of them kept purged captures out of imports.
    """
    with _opened(settings) as engine:
        access = engine.access_index()
        known = {rule.id: rule for rule in access.rules().rules}
        unknown = set(ids) - known.keys()
        if unknown:
            raise UsageError(
                f"there is no access rule {min(unknown)!r}; `nwx access list` lists them"
            )
        removed = access.remove(ids, command_user())
    purged = sorted(id for id in set(ids) if known[id].purged)
    if as_json:
        print_json({"removed": removed, "purged": purged})
    else:
        click.echo(f"{counted(removed, 'rule')} removed")
    for id in purged:
        warn(
            f"rule {id} kept captures out that were purged; the next import of their files"
            " brings them back, for everybody to see"
        )


@command.command("test")
@click.argument("url")
@_COLLECTION
@_DIGEST
@_FILE
@option.string("--date", "DATE", "Captured then.  [default: now]")
@option.string("--user", "NAME", "Asked by this user.")
@option.string("--address", "ADDRESS", "Asked from this address.")
@option.JSON
@click.pass_obj
def check_url(settings: Settings, /, url: str, as_json: bool, **given: str) -> None:
    """Show which rule decides about a capture of URL, and what it says.

    Whether there is such a capture makes no difference. After
    nwx --unrestricted the captures of the URL are listed with their rules too.
    """
    from nwx.engine.access.rules import Viewer

    viewer = Viewer(given["address"], given["user"])
    with _opened(settings, read_only=True) as engine:
        decisions = engine.access_index().rules().for_viewer(viewer)
        asked = _asked_capture(url, **given)
        decided = decisions.decide(asked)
        captures = engine.captures(asked.urlkey) if is_unrestricted() else ()
        found = [(each.timestamp, each.collection, decisions.decide(each)) for each in captures]
    if as_json:
        listed = [{"timestamp": when, "collection": of, **_said(said)} for when, of, said in found]
        print_json({"url": url, **_said(decided), "captures": listed})
        return
    click.echo(_decision_words(decided))
    for when, collection, said in found:
        click.echo(f"  {when} {clean(collection)}: {_decision_words(said)}")


def _asked_capture(url: str, **given: str) -> Any:
    from datetime import UTC, datetime
    from types import SimpleNamespace

    from nwx.engine.access.scope_texts import between, url_scope
    from nwx.values.timestamps import to_timestamp

    scope = _scope("", given["collection"], given["digest"], given["file"])
    date = between(scope, given["date"], "").date_from
    return SimpleNamespace(
        urlkey=url_scope(url.rstrip("*")).prefix,
        url=url,
        digest=scope.digest,
        collection=scope.collection,
        source_file=scope.source_file,
        timestamp=date or to_timestamp(datetime.now(UTC)),
    )


def _said(decision: "Decision") -> dict[str, Any]:
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
@option.count("--limit", None, "Entries.", default=50)
@option.value(
    "--offset", click.IntRange(0), None, "Leave out so many first.", default=0, show_default=False
)
@option.JSON
@click.pass_obj
def show_log(settings: Settings, limit: int, offset: int, as_json: bool) -> None:
    """Show who changed which rules, the last change first; no command changes the log."""
    with _opened(settings, read_only=True) as engine:
        changes = engine.access_index().changes(limit, offset)
    if as_json:
        print_json([_change_json(change) for change in changes])
    elif changes:
        headings = ("when", "by", "change", "id", "action", "about", "reason")
        _print_table(headings, [_change_cells(change) for change in changes])
    else:
        click.echo("the access rules of this archive were never changed")


def _change_json(change: "AccessChange") -> dict[str, Any]:
    rule = _rule_json(change.rule)
    return {"at": change.at, "by": change.by, "change": str(change.kind), "rule": rule}


def _change_cells(change: "AccessChange") -> tuple[str, ...]:
    id, action, about, reason, *_ = _rule_cells(change.rule)
    when = f"{date_words(change.at)} {change.at[8:10]}:{change.at[10:12]}"
    return (when, change.by, str(change.kind), id, action, about, reason)
