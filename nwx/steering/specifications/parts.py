"""The parts of a crawl specification, read from the tables of a file."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any
from urllib.parse import urlsplit

from nwx.errors import UrlError
from nwx.steering.specifications.link_rules import (
    MAX_EXPRESSION_CHARACTERS,
    RuleError,
    compile_expression,
    normal_host,
    normal_surt,
)
from nwx.steering.specifications.specification import (
    DueInterval,
    Entity,
    EntityKind,
    Keyword,
    Limits,
    LinkRule,
    RuleAction,
    ScoreWeights,
    Thresholds,
)
from nwx.steering.specifications.tables import Table, most_similar, shown_value
from nwx.values.urlkeys import urlkey
from nwx.values.urls import MAX_URL_CHARACTERS, host_parts

MOST_ENTRIES = 100_000
"""So many seeds, keywords, entities, or conditions of one list of a rule are taken."""

MOST_RULES = 10_000
MOST_EXPRESSIONS = 1_000
"""So many expressions all rules together may have: each URL is compared with each."""

MOST_INSTRUCTIONS = 1_000_000
"""So long the expressions of all rules together may be as programs of RE2: `a{1000}` has 1,000."""

MOST_CONDITIONS = 200_000
"""So many conditions all rules together may have."""

MOST_ALIASES = 1_000
MOST_DAYS = 36_500.0
_MOST_WEIGHT = 1_000.0
_LEAST_WEIGHT = 0.001
_MOST_NUMBER = 10**15
_MOST_TEXT = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED = ("compare", "new")
_LANGUAGE = re.compile(r"[a-z]{2}")
_SURT_HOST = re.compile(r"[\w-]+(?:,[\w-]+)*(?::\d{1,5})?")

KEYWORD_KEYS = ("text", "weight", "language")
ENTITY_KEYS = ("name", "aliases", "kind", "identifier", "weight")
CONDITION_KEYS = ("expressions", "surts", "hosts")


def name_problem(name: str) -> str:
    """Return why a crawl cannot have a name, "" where it can."""
    if not _NAME.fullmatch(name):
        return (
            f"{shown_value(name)} is no name of a crawl; use up to 100 letters, digits, dots, "
            f"dashes and underscores, the first of them a letter or a digit"
        )
    if name.lower() in _RESERVED:
        return f"{name!r} is the name of a page; choose another name"
    return ""


def seeds_of(root: Table) -> Iterator[str]:
    """Yield the seeds, each once."""
    seen: dict[str, str] = {}
    for place, value in root.items("seeds", MOST_ENTRIES):
        entry = Table({place: value}, "", root.problems)
        url = entry.text(place, most=MAX_URL_CHARACTERS)
        reason = url_problem(url) if url or value == "" else ""
        if reason:
            entry.note(place, reason)
        elif url and _is_first(entry, place, url, place, seen):
            yield url


def url_problem(url: str) -> str:
    """Return why a text is no URL that a crawler fetches, "" where it is one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        urlkey(url)
    except (ValueError, UrlError) as error:
        return f"{shown_value(url)} is no URL ({error})"
    if parts.scheme.lower() not in ("http", "https") or not host or " " in url:
        return f"{shown_value(url)} is no URL; write http://HOST/PATH or https://HOST/PATH"
    return ""


def keywords_of(root: Table) -> Iterator[Keyword]:
    """Yield the keywords; a text stands for a keyword of weight 1 in any language."""
    seen: dict[tuple[str, str], str] = {}
    for number, table in enumerate(root.tables("keywords", MOST_ENTRIES, "text"), 1):
        table.check_keys(KEYWORD_KEYS)
        text = _words(table, "text")
        language = table.text("language")
        if language and not _LANGUAGE.fullmatch(language):
            table.note("language", f"is {shown_value(language)}; two lower-case letters are wanted")
        weight = _weight(table)
        key = (text.casefold(), language)
        if text and _is_first(table, "", key, f"keywords[{number}]", seen):
            yield Keyword(text, weight, language)


def entities_of(root: Table) -> Iterator[Entity]:
    """Yield the entities; a text stands for an entity with that name alone."""
    seen: dict[str, str] = {}
    for number, table in enumerate(root.tables("entities", MOST_ENTRIES, "name"), 1):
        table.check_keys(ENTITY_KEYS)
        name = _words(table, "name")
        aliases = table.texts("aliases", MOST_ALIASES, _MOST_TEXT)
        kind = _choice(table, "kind", list(EntityKind), EntityKind.OTHER)
        identifier, weight = table.text("identifier"), _weight(table)
        if name and _is_first(table, "", name.casefold(), f"entities[{number}]", seen):
            unique = tuple(one for one in dict.fromkeys(aliases) if one != name)
            yield Entity(name, unique, EntityKind(kind), identifier, weight)


def _is_first(table: Table, key: str, value: object, place: str, seen: dict[Any, str]) -> bool:
    """Return whether a value was not there before, and note where it was."""
    before = seen.setdefault(value, place)
    if before != place:
        table.note(key, f"is the same as {before}")
    return before == place


def _words(table: Table, key: str) -> str:
    """Return a text that has letters or digits, which must be there."""
    text = table.text(key, most=_MOST_TEXT)
    if key not in table:
        table.note("", f"lacks {key!r}")
    elif text and not any(sign.isalnum() for sign in text):
        table.note(key, f"{shown_value(text)} has neither letters nor digits")
        return ""
    elif not text and table.is_text(key):
        table.note(key, "is empty")
    return text


def _weight(table: Table) -> float:
    return table.number("weight", 1.0, _LEAST_WEIGHT, _MOST_WEIGHT)


def _choice(table: Table, key: str, known: Sequence[str], default: str) -> str:
    """Return one of some known texts."""
    given = table.text(key).lower()
    if given and given not in known:
        like = most_similar(given, known)
        advice = f"did you mean {like!r}?" if like else f"choose one of {', '.join(known)}"
        table.note(key, f"is {shown_value(given)}; {advice}")
    return given if given in known else default


def rules_of(root: Table) -> Iterator[LinkRule]:
    """Yield the link rules."""
    expressions, conditions = 0, 0
    sizes: list[int] = []
    for table in root.tables("rules", MOST_RULES):
        table.check_keys(("action", *CONDITION_KEYS))
        action = _choice(table, "action", list(RuleAction), RuleAction.PREFER)
        if "action" not in table:
            table.note("", f"lacks 'action', one of {', '.join(RuleAction)}")
        if not any(table.has_entries(key) for key in CONDITION_KEYS):
            table.note("", f"covers nothing; it needs one of {', '.join(CONDITION_KEYS)}")
        rule = LinkRule(
            RuleAction(action),
            tuple(_expressions(table, sizes)),
            tuple(_conditions(table, "surts", surt_problem)),
            tuple(_conditions(table, "hosts", host_problem)),
        )
        expressions += len(rule.expressions)
        conditions += sum(len(getattr(rule, key)) for key in CONDITION_KEYS)
        yield rule
        if expressions > MOST_EXPRESSIONS or conditions > MOST_CONDITIONS:
            root.note(
                "rules",
                f"have more than {MOST_EXPRESSIONS:,} expressions, or more than "
                f"{MOST_CONDITIONS:,} conditions; fewer are taken",
            )
            return


def _expressions(table: Table, sizes: list[int]) -> Iterator[str]:
    """Yield the expressions of a rule; `sizes` are those of all before, and get those of these."""
    for place, value in table.items("expressions", MOST_EXPRESSIONS):
        entry = Table({place: value}, "", table.problems)
        if not isinstance(value, str) or len(value) > MAX_EXPRESSION_CHARACTERS:
            entry.text(place, most=MAX_EXPRESSION_CHARACTERS)
        elif reason := expression_problem(value):
            entry.note(place, reason)
        else:
            sizes.append(compile_expression(value).programsize)
            if sum(sizes) > MOST_INSTRUCTIONS:
                reason = "and those before have too many repetitions or classes together"
                entry.note(place, f"{shown_value(value)} {reason}")
                return
            yield value


def expression_problem(text: str) -> str:
    """Return why a text is no expression of a rule, "" where it is one."""
    if not text:
        return "is empty, and would cover everything"
    try:
        compile_expression(text)
    except (RuleError, UnicodeError) as error:
        return f"RE2 does not take {shown_value(text)}: {error}"
    return ""


def _conditions(table: Table, key: str, problem: Callable[[str], str]) -> Iterator[str]:
    for place, value in table.items(key, MOST_ENTRIES):
        entry = Table({place: value}, "", table.problems)
        text = entry.text(place, most=MAX_URL_CHARACTERS)
        reason = problem(text) if isinstance(value, str) and (text or not value.strip()) else ""
        if reason:
            entry.note(place, reason)
        elif text:
            yield text


def surt_problem(text: str) -> str:
    """Return why a text is no SURT prefix, "" where it is one."""
    if "://" in text and "(" not in text:
        advice = f"; write its SURT prefix {_surt_of(text)!r}" if not url_problem(text) else ""
        return f"{shown_value(text)} is no SURT prefix{advice}"
    host = normal_surt(text).partition(")")[0]
    if not _SURT_HOST.fullmatch(host) or ("." in host and "," not in host):
        return f"{shown_value(text)} is no SURT prefix; write 'org,example)/path' or 'org,example'"
    return ""


def _surt_of(url: str) -> str:
    key = urlkey(url)
    return f"{key}/" if url.endswith("/") and not key.endswith("/") else key


def host_problem(text: str) -> str:
    """Return why a text is no host of a rule, "" where it is one."""
    parts = host_parts(normal_host(text))
    if not text or not parts.domain or "/" in text or "," in text:
        return f"{shown_value(text)} is no host; write 'example.org', which covers www.example.org"
    return ""


def limits_of(root: Table) -> Limits:
    """Return the limits."""
    table = root.table("limits")
    table.check_keys([field.name for field in fields(Limits)])
    return Limits(
        table.whole_number("depth", 0, _MOST_NUMBER),
        table.whole_number("pages", 1, _MOST_NUMBER),
        table.whole_number("pages_per_host", 1, _MOST_NUMBER),
    )


def weights_of(root: Table) -> ScoreWeights:
    """Return the weights of the parts of relevance."""
    table, usual = root.table("weights"), ScoreWeights()
    names = [field.name for field in fields(ScoreWeights)]
    table.check_keys(names)
    found = {name: table.number(name, getattr(usual, name), 0, _MOST_WEIGHT) for name in names}
    if not any(found.values()):
        table.note("", "are all 0; one of them must be more")
    return ScoreWeights(**found)


def thresholds_of(root: Table) -> Thresholds:
    """Return the thresholds."""
    table, usual = root.table("thresholds"), Thresholds()
    names = [field.name for field in fields(Thresholds)]
    table.check_keys(names)
    return Thresholds(**{name: table.number(name, getattr(usual, name), 0, 1) for name in names})


def intervals_of(root: Table) -> Iterator[DueInterval]:
    """Yield the intervals after which pages are due."""
    for_all = ""
    for number, table in enumerate(root.tables("intervals", MOST_ENTRIES), 1):
        table.check_keys(("days", "surts", "hosts"))
        if "days" not in table:
            table.note("", "lacks 'days'")
        days = table.number("days", 1.0, _LEAST_WEIGHT, MOST_DAYS)
        surts = tuple(_conditions(table, "surts", surt_problem))
        hosts = tuple(_conditions(table, "hosts", host_problem))
        if not any(table.has_entries(key) for key in ("surts", "hosts")):
            if for_all:
                table.note("", f"is for all pages, as {for_all} is")
            for_all = for_all or f"intervals[{number}]"
        yield DueInterval(days, surts, hosts)
