"""Access rules, rule files and decisions, as requested by the API and commands."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, BinaryIO

from nwx.access.account_store import check_account_name
from nwx.engine.access.access_index import AccessChange
from nwx.engine.access.aclj import (
    ReadRule,
    aclj_lines,
    between,
    digest_scope,
    own_line,
    rule_object,
    rules_of_file,
    scope_of,
    scope_words,
    url_scope,
)
from nwx.engine.access.decisions import AskedCapture, Decision
from nwx.engine.access.rules import AccessRule, Action, Scope, Viewer
from nwx.engine.base import Engine
from nwx.engine.indices.digest_index import held_digest
from nwx.errors import UsageError
from nwx.values.arguments import check_arguments, chosen, several
from nwx.values.timestamps import to_timestamp

__all__ = [
    "AccessChange",
    "AccessRule",
    "AskedCapture",
    "Decision",
    "RuleFileReport",
    "UrlDecisions",
    "asked_rule",
    "held_rule",
    "load_rules",
    "removed_rules",
    "rule_lines",
    "rule_values",
    "scope_words",
    "url_decisions",
]

_NAMING = ("url", "prefix", "digest", "source_file")


def asked_scope(what: str, *, collection: str = "", digest: str = "", file: str = "") -> Scope:
    """Return the scope that a text names (`scope_of`), narrowed by the options."""
    scope = scope_of(what) if what else Scope()
    return replace(
        scope,
        collection=collection,
        digest=digest_scope(digest).digest if digest else scope.digest,
        source_file=file.rpartition("/")[2] or scope.source_file,
    )


@check_arguments
def asked_rule(
    action: str,
    what: str,
    *,
    from_: str = "",
    to: str = "",
    until: str = "",
    years: int | None = None,
    addresses: str | Sequence[str] = (),
    users: str | Sequence[str] = (),
    reason: str = "",
    **narrowing: str,
) -> AccessRule:
    """Return a rule for the scope that a text names, narrowed by options as in `asked_scope`."""
    scope = asked_scope(what, **narrowing)
    if not what and scope.is_everything and not (from_ or to):
        raise UsageError.translated("name what the rule applies to; * is all captures")
    within, names = between(scope, from_, to), tuple(map(check_account_name, several(users)))
    viewers = several(addresses), names
    return AccessRule("", chosen(Action, action), within, until, years, *viewers, reason)


def held_rule(engine: Engine, rule: AccessRule) -> AccessRule:
    """Return a rule with the digest that captures have instead of an additional one."""
    digest = rule.scope.digest
    return replace(rule, scope=replace(rule.scope, digest=held_digest(engine, digest)))


def removed_rules(engine: Engine, ids: Iterable[str], by: str) -> tuple[int, list[str]]:
    """Remove rules; return how many, and which of them kept purged captures out of imports."""
    access, wanted = engine.access_index(), set(ids)
    known = {rule.id: rule for rule in access.rules().rules}
    if unknown := wanted - known.keys():
        raise UsageError.translated(
            "there is no access rule %(rule)s; `nwx access list` lists them",
            rule=repr(min(unknown)),
        )
    return access.remove(wanted, by), sorted(id for id in wanted if known[id].purged)


@dataclass(frozen=True, slots=True)
class UrlDecisions:
    """The decision about a capture of a URL, and about each existing capture."""

    decision: Decision
    captures: Sequence[tuple[str, str, Decision]] = ()
    """Timestamp, collection and decision of each."""


def url_decisions(
    engine: Engine, url: str, viewer: Viewer, date: str, *, with_captures: bool, **narrowing: str
) -> UrlDecisions:
    """Return the decision about a capture of a URL, whether it exists or not."""
    scope = between(asked_scope("", **narrowing), date, "")
    asked = AskedCapture(
        url_scope(url.rstrip("*")).prefix,
        url,
        held_digest(engine, scope.digest),
        scope.collection,
        scope.source_file,
        scope.date_from or to_timestamp(datetime.now(UTC)),
    )
    decisions = engine.access_index().rules().for_viewer(viewer)
    captures = engine.captures(asked.urlkey) if with_captures else ()
    found = [(one.timestamp, one.collection, decisions.decide(one)) for one in captures]
    return UrlDecisions(decisions.decide(asked), found)


@dataclass(frozen=True, slots=True)
class RuleFileReport:
    """Rules of a file: how many were read, how many of them are new, and lines without a rule."""

    rules: int
    new: int
    problems: Sequence[ReadRule]


def load_rules(
    engine: Engine,
    stream: BinaryIO,
    reason: str,
    action: str | None,
    by: str,
    collection: str = "",
) -> RuleFileReport:
    """Store the rules in a file of pywb, of nwx or of URLs; other lines are reported.

    With `collection`, each applies to that collection only.
    """
    given = rules_of_file(stream, reason, chosen(Action, action) if action else None)
    read = [_held(engine, one) for one in given]
    access = engine.access_index()
    known = {rule.id for rule in access.rules().rules}
    found = [one.rule for one in read if one.rule]
    if collection:
        found = [replace(rule, scope=replace(rule.scope, collection=collection)) for rule in found]
    stored = access.put(found, by)
    new = sum(rule.id not in known for rule in stored)
    return RuleFileReport(len(stored), new, [one for one in read if one.rule is None])


def _held(engine: Engine, read: ReadRule) -> ReadRule:
    try:
        return read._replace(rule=read.rule and held_rule(engine, read.rule))
    except UsageError as error:
        return ReadRule(read.line, None, str(error))


def rule_lines(
    rules: Iterable[AccessRule], *, whole: bool
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return rules as lines for pywb, and those it cannot express with reasons.

    `whole` writes all of each rule as JSON.
    """
    if whole:
        return [own_line(rule) for rule in rules], []
    lines, unwritten = aclj_lines(rules, datetime.now(UTC))
    return lines, [(rule.id, reason) for rule, reason in unwritten]


def rule_values(rule: AccessRule, *, is_shown: bool) -> dict[str, Any]:
    """Return a rule as JSON values; without its URL, digest and file unless `is_shown`."""
    found = rule_object(rule)
    if is_shown:
        return found
    return {name: one for name, one in found.items() if name not in _NAMING} | {"hidden": True}
