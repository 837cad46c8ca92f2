"""Access rules as text: scopes, and the `.aclj` files of pywb.

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
from nwx.errors import DigestError, FormatError, NwxError, UsageError
from nwx.values.digests import normal_digest
from nwx.values.timestamps import date_span, parse_timestamp, to_timestamp
from nwx.values.urlkeys import urlkey, with_scheme
from nwx.values.urls import clean_url, host_parts

EXACT_MARK = "###"
"""The mark after an exact urlkey in the files of pywb."""

_EVERYTHING = ("*", "*,")
_DIGEST = re.compile(r"(?:urn:)?(?:md5|sha-?(?:1|224|256|384|512)):\S+|[A-Z2-7]{32}", re.I)
_FILE = re.compile(r"(?!\w+://).*\.(?:w?arc(?:\.gz|\.zst)?|wacz)", re.I)
_SURT = re.compile(r"(?:[^\s:/?#,)(]*,)+[^\s/?#)(]*(?:\).*)?|[0-9a-z.-]+(?::\d+)?\).*", re.I)
_WEB = ("http:", "https:")


def scope_of(text: str) -> Scope:
    """Return the scope denoted by a text.

    `http://example.com/a` is exactly this URL, `http://example.com/a*` all URLs with this prefix,
    `example.com` a host, `*.example.com` a domain with its hosts, `com,example)/a` a SURT prefix
    (followed by `###`: exactly this urlkey), `sha1:…` a digest, `crawl.warc.gz` an archive file
    (its folder is ignored), `*` all captures. Raises UsageError on anything else.
    """
    text = text.strip()
    if text in _EVERYTHING:
        return Scope(url=text)
    if _DIGEST.fullmatch(text):
        return digest_scope(text)
    if _FILE.fullmatch(text):
        return Scope(url=text, source_file=text.rpartition("/")[2])
    if _SURT.fullmatch(text):
        return surt_scope(text)
    host = _WRITTEN_HOST.match(text)
    if host and (host[1].endswith(".*") or "*" in host[1].rstrip("*")):
        raise UsageError.translated(
            "%(scope)s leaves a part of the host name open; write example.com for a host, "
            "*.example.com for a domain with all its hosts",
            scope=repr(text[:60]),
        )
    if text.startswith("*."):
        return domain_scope(text[2:].rstrip("*").rstrip("/"))
    if "/" not in text and not re.match(r"[a-z]+:(?!\d)", text, re.I):
        return host_scope(text.rstrip("*"))
    return url_scope(text)


def url_scope(text: str) -> Scope:
    """Return the scope of exactly one URL or, if it ends in `*`, of all URLs with this prefix."""
    url = with_scheme(text.rstrip("*"))
    key = _key(url)
    if not text.endswith("*"):
        return Scope(url=text, prefix=key, is_exact=True)
    # A urlkey has no trailing slash or question mark; the prefix keeps them.
    sign = url[-1:] if url.endswith(("/", "?")) and not key.endswith(url[-1]) else ""
    return Scope(url=text, prefix=f"{key}{sign}")


def surt_scope(text: str) -> Scope:
    """Return the scope of a SURT prefix; a host name alone (`com,example`) is a domain."""
    prefix = text.removesuffix(EXACT_MARK)
    return Scope(url=text, prefix=prefix.rstrip("*"), is_exact=prefix != text)


def host_scope(host: str) -> Scope:
    """Return the scope of a host, on any port if none is given."""
    return Scope(url=host, prefix=_key(f"http://{_ascii_host(host)}/"))


def domain_scope(domain: str) -> Scope:
    """Return the scope of a domain and all hosts below it."""
    key = _key(f"http://{_ascii_host(domain)}/")
    return Scope(url=f"*.{domain}", prefix=key.partition(")")[0])


def digest_scope(text: str) -> Scope:
    """Return the scope of all captures with a payload of this digest, in any spelling."""
    try:
        return Scope(url=text, digest=normal_digest(text))
    except DigestError as error:
        raise UsageError(error.text) from error


def between(scope: Scope, since: str, to: str) -> Scope:
    """Return a scope limited to dates, from the start of `since` to the end of `to`.

    Dates are 2014, 2014-03, 2014-03-05 and the like, "" for no bound.
    """
    try:
        return replace(
            scope,
            date_from=date_span(since)[0] if since else scope.date_from,
            date_to=date_span(to)[1] if to else scope.date_to,
        )
    except NwxError as error:
        raise UsageError(error.text) from error


def scope_words(scope: Scope) -> str:
    """Return a human-readable description of a scope."""
    words = [f"URL {scope.prefix}{EXACT_MARK}" if scope.is_exact else f"prefix {scope.prefix}"]
    if not scope.prefix:
        words = []
    words += [
        f"{name} {value}"
        for name, value in (
            ("digest", scope.digest),
            ("file", scope.source_file),
            ("collection", scope.collection),
            ("from", scope.date_from),
            ("to", scope.date_to),
        )
        if value
    ]
    return ", ".join(words) or "all captures"


def _ascii_host(host: str) -> str:
    name, mark, port = host.strip().rpartition(":")
    if not (mark and port.isdigit()):
        name, mark, port = host.strip(), "", ""
    parts = host_parts(name)
    if not parts.domain:
        raise UsageError.translated(
            "%(host)s is not a host; write example.com, or *.example.com", host=repr(host[:60])
        )
    return f"{parts.host}{mark}{port}"


def _key(url: str) -> str:
    try:
        key = urlkey(clean_url(url))
    except NwxError as error:
        raise UsageError(error.text) from error
    if ")" not in key and key.startswith(_WEB):
        raise UsageError.translated(
            "%(url)s is not a URL; give an address, such as http://example.com/a",
            url=repr(url[:60]),
        )
    return key


_EVERY_URL = "*,"
_WRITTEN_HOST = re.compile(r"(?:\*\.|[a-z][a-z0-9+.-]*://)?([^/?#]*)", re.IGNORECASE)
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
    """A rule that cannot be expressed in a file of pywb, and the reason."""

    rule: AccessRule
    reason: str


def rules_of_file(
    stream: BinaryIO, reason: str = "", action: Action | None = None
) -> Iterator[ReadRule]:
    """Yield the checked rules of a file, and the errors of other lines.

    `reason` applies to lines without one. With an `action`, lines without an object are URLs, SURT
    prefixes and the like (`scope_of`) to which the action applies; a URL matches every URL that
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
    """Yield lines; overlong lines are cut to one byte above the limit."""
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
        raise FormatError("the line has no JSON object; give the action of a list of URLs")
    return replace(rule, reason=rule.reason or reason)


def _object(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the line is not valid JSON ({error})") from error
    if not isinstance(found, dict):
        raise FormatError("the line has no JSON object")
    return found


def _own_rule(found: Mapping[str, Any]) -> AccessRule:
    for name, value in found.items():
        if not _is_of_kind(name, value):
            raise FormatError(f"the line is not an nwx rule: {name[:40]!r} has a wrong value")
    try:
        return rule_from_entry({"rule": "", **found})
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the line is not an nwx rule ({error})") from error


def _is_of_kind(name: str, value: object) -> bool:
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    kind = bool if name in _YES_OR_NO else int if name == "years" else str
    return type(value) is kind


def _pywb_rule(key: str, dates: list[str], fields: Mapping[str, Any]) -> AccessRule:
    access, user = str(fields.get("access")), fields.get("user", "")
    if len(dates) > 1 or access not in _ACTIONS or not isinstance(user, str):
        raise FormatError(
            f"the line is not a pywb rule: access is {access[:40]!r}; expected "
            f"urlkey - {{…}} with access {', '.join(_ACTIONS)}"
        )
    scope = Scope() if key == _EVERY_URL else surt_scope(key)
    url = fields.get("url")
    scope = replace(scope, url=url if isinstance(url, str) else key)
    rule = AccessRule("", _ACTIONS[access], scope, users=(user,) if user else ())
    return _dated(rule, fields)


def _dated(rule: AccessRule, fields: Mapping[str, Any]) -> AccessRule:
    """Return a rule with the dates of a line; as in pywb, only the first of them counts."""
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
            "of relative dates, only block and exclude of captures newer than whole years "
            "are supported; write a rule with dates, or an embargo"
        )
    return rule


def _end_of_period(date: object) -> datetime:
    """Return the last second of a year, month, day and so on, as compared by pywb."""
    digits = str(date)
    if len(digits) < 4 or not (digits.isascii() and digits.isdigit()):
        raise FormatError(
            f"{digits[:40]!r} is not a timestamp; expected 4 to 14 digits YYYYMMDDhhmmss"
        )
    return timestamp_to_datetime(digits, tz_aware=True)  # type: ignore[no-any-return]


def _is_years(span: object) -> bool:
    return isinstance(span, dict) and list(span) == ["years"] and isinstance(span["years"], int)


def own_line(rule: AccessRule) -> str:
    """Return a complete rule as a JSON object on one line."""
    return json.dumps(rule_object(rule), ensure_ascii=False)


def rule_object(rule: AccessRule) -> dict[str, Any]:
    """Return a complete rule as a JSON object."""
    fields = rule_fields(rule)
    return {"id": fields.pop("rule"), **fields}


def aclj_lines(rules: Iterable[AccessRule], now: datetime) -> tuple[list[str], list[UnwrittenRule]]:
    """Return the lines of a pywb file, in its order, and the rules it cannot express.

    Embargoes that have ended are left out; other embargoes become blocks.
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
        return "pywb has no rules by digest, collection or file"
    if rule.addresses:
        return "pywb has no rules by address"
    if sum(map(bool, (scope.date_from, scope.date_to, rule.years))) > 1:
        return "pywb uses only one date of a rule"
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
