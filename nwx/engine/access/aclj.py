"""Access rules in the `.aclj` files of pywb.

A line is `<urlkey or prefix> - {"access": …, "url": …, "user": …}`, lines are in descending
order, `###` ends an exact urlkey, `*,` is every URL
(https://pywb.readthedocs.io/en/latest/manual/access-control.html). Files with one nwx rule per
line as a JSON object, and lists of URLs, are read as well.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, BinaryIO, NamedTuple

from warcio.timeutils import timestamp_to_datetime

from nwx.engine.access.access_index import rule_fields, rule_from_entry
from nwx.engine.access.matches import reached_keys
from nwx.engine.access.rules import AccessRule, Action, Scope, checked_rule
from nwx.engine.access.scope_texts import EXACT_MARK, scope_of, surt_scope
from nwx.errors import FormatError, NwxError
from nwx.values.timestamps import parse_timestamp, to_timestamp

_EVERY_URL = "*,"
_ACTIONS = {
    "allow": Action.ALLOW,
    "allow_ignore_embargo": Action.ALLOW,
    "block": Action.BLOCK,
    "exclude": Action.EXCLUDE,
}
_LISTS, _YES_OR_NO = ("addresses", "users"), ("is_exact", "purged")
_PYWB_LINE = re.compile(r"(\S+)\s+([^{]*)(\{.*)", re.DOTALL)
_LONGEST_LINE = 100_000
_SECOND = timedelta(seconds=1)


class ReadRule(NamedTuple):
    """A rule read from a line, or the error in the line; lines are numbered from 1."""

    line: int
    rule: AccessRule | None
    problem: str = ""


class UnwrittenRule(NamedTuple):
    """A rule that a file of pywb cannot hold, and why."""

    rule: AccessRule
    reason: str


def rules_of_file(
    stream: BinaryIO, reason: str = "", action: Action | None = None
) -> Iterator[ReadRule]:
    """Yield the rules of a file, each checked, and the errors of other lines.

    `reason` applies to lines without one. With an `action`, lines without an object are URLs, SURT
    prefixes and the like (`scope_of`) that the action applies to; a URL matches every URL that
    starts with it, as in pywb.
    """
    for number, line in enumerate(_lines_of(stream), 1):
        text = line.decode("utf-8", "replace").strip("\ufeff \t\r\n")
        if not text or text.startswith("#"):
            continue
        try:
            yield ReadRule(number, checked_rule(_rule(text, reason, action)))
        except NwxError as error:
            yield ReadRule(number, None, str(error))


def _lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines; overlong lines are cut, but still exceed the limit."""
    while line := stream.readline(_LONGEST_LINE + 1):
        rest = line
        while not rest.endswith(b"\n") and len(rest) > _LONGEST_LINE:
            rest = stream.readline(_LONGEST_LINE + 1)
        yield line


def _rule(text: str, reason: str, action: Action | None) -> AccessRule:
    if len(text.encode()) > _LONGEST_LINE:
        raise FormatError(f"the line has more than {_LONGEST_LINE:,} bytes")
    if text.startswith("{"):
        rule = _own_rule(_object(text))
    elif line := _PYWB_LINE.fullmatch(text):
        rule = _pywb_rule(line[1], line[2].split(), _object(line[3]))
    elif action is not None:
        scope = scope_of(text)
        rule = AccessRule("", action, replace(scope, is_exact=text.endswith(EXACT_MARK)))
    else:
        raise FormatError(
            "the line has no JSON object; give the action of a list of URLs by --action"
        )
    return replace(rule, reason=rule.reason or reason)


def _object(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the line is no JSON ({error})") from error
    if not isinstance(found, dict):
        raise FormatError("the line has no JSON object")
    return found


def _own_rule(found: Mapping[str, Any]) -> AccessRule:
    for name, value in found.items():
        if not _is_of_kind(name, value):
            raise FormatError(f"the line is no rule of nwx: {name[:40]!r} has a wrong value")
    try:
        return rule_from_entry({"rule": "", **found})
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the line is no rule of nwx ({error})") from error


def _is_of_kind(name: str, value: object) -> bool:
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    kind = bool if name in _YES_OR_NO else int if name == "years" else str
    return type(value) is kind


def _pywb_rule(key: str, dates: list[str], fields: Mapping[str, Any]) -> AccessRule:
    access, user = str(fields.get("access")), fields.get("user", "")
    if len(dates) > 1 or access not in _ACTIONS or not isinstance(user, str):
        raise FormatError(
            f"the line is no rule of pywb: access is {access[:40]!r}; "
            f"urlkey - {{…}} with access {', '.join(_ACTIONS)} is read"
        )
    scope = Scope() if key == _EVERY_URL else surt_scope(key)
    url = fields.get("url")
    scope = replace(scope, url=url if isinstance(url, str) else key)
    rule = AccessRule("", _ACTIONS[access], scope, users=(user,) if user else ())
    return _dated(rule, fields)


def _dated(rule: AccessRule, fields: Mapping[str, Any]) -> AccessRule:
    """Return a rule with the dates of a line; pywb looks at the first of them only."""
    if before := fields.get("before"):
        last = to_timestamp(_end_of_period(before) - _SECOND)
        return replace(rule, scope=replace(rule.scope, date_to=last))
    if after := fields.get("after"):
        first = to_timestamp(_end_of_period(after) + _SECOND)
        return replace(rule, scope=replace(rule.scope, date_from=first))
    newer = fields.get("newer")
    if newer and rule.action is not Action.ALLOW and _is_years(newer):
        return replace(rule, action=Action.EMBARGO, years=newer["years"])
    if newer or fields.get("older"):
        raise FormatError(
            "of dates that move with the day, only block and exclude of what is newer than "
            "whole years can be read; write a rule with dates, or an embargo"
        )
    return rule


def _end_of_period(date: object) -> datetime:
    """Return the last second of a year, month, day and so on, which pywb compares with."""
    digits = str(date)
    if len(digits) < 4 or not (digits.isascii() and digits.isdigit()):
        raise FormatError(
            f"{digits[:40]!r} is no timestamp; 4 to 14 digits YYYYMMDDhhmmss are needed"
        )
    return timestamp_to_datetime(digits, tz_aware=True)  # type: ignore[no-any-return]


def _is_years(span: object) -> bool:
    return isinstance(span, dict) and list(span) == ["years"] and isinstance(span["years"], int)


def own_line(rule: AccessRule) -> str:
    """Return all of a rule as a JSON object on a line."""
    return json.dumps(rule_object(rule), ensure_ascii=False)


def rule_object(rule: AccessRule) -> dict[str, Any]:
    """Return all of a rule as a JSON object."""
    fields = rule_fields(rule)
    return {"id": fields.pop("rule"), **fields}


def aclj_lines(rules: Iterable[AccessRule], now: datetime) -> tuple[list[str], list[UnwrittenRule]]:
    """Return the lines of a pywb file, in its order, and the rules it cannot express.

    Embargoes whose end date is past are left out; other embargoes become blocks.
    """
    lines: set[str] = set()
    unwritten = []
    moment = to_timestamp(now)
    for rule in rules:
        if rule.until and rule.until <= moment:
            continue
        if problem := _problem(rule):
            unwritten.append(UnwrittenRule(rule, problem))
        else:
            lines.update(_lines(rule))
    return sorted(lines, reverse=True), unwritten


def _problem(rule: AccessRule) -> str:
    scope = rule.scope
    if scope.digest or scope.collection or scope.source_file:
        return "pywb knows no rules by digest, collection or file"
    if rule.addresses:
        return "pywb knows no rules by address"
    if sum(map(bool, (scope.date_from, scope.date_to, rule.years))) > 1:
        return "pywb looks at one date of a rule only"
    return ""


def _lines(rule: AccessRule) -> Iterator[str]:
    if rule.action is Action.LOCAL:
        accesses = [*(("allow", user) for user in rule.users), ("block", "")]
    else:
        access = "block" if rule.action is Action.EMBARGO else str(rule.action)
        accesses = [(access, user) for user in rule.users or ("",)]
    for key in _written_keys(rule.scope):
        for access, user in accesses:
            fields = {"access": access, "url": rule.scope.url, "user": user, **_dates(rule)}
            kept = {name: value for name, value in fields.items() if value}
            yield f"{key} - {json.dumps(kept, ensure_ascii=False)}"


def _written_keys(scope: Scope) -> list[str]:
    if not scope.prefix:
        return [_EVERY_URL]
    exact, starts = reached_keys(scope)
    return [*(f"{key}{EXACT_MARK}" for key in exact), *starts]


def _dates(rule: AccessRule) -> dict[str, Any]:
    scope = rule.scope
    return {
        "before": _moved(scope.date_to, _SECOND) if scope.date_to else "",
        "after": _moved(scope.date_from, -_SECOND) if scope.date_from else "",
        "newer": {"years": rule.years} if rule.years else None,
    }


def _moved(timestamp: str, span: timedelta) -> str:
    return to_timestamp(parse_timestamp(timestamp) + span)
