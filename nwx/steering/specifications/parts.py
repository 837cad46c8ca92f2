"""The parts of a crawl specification, read from the values of a file."""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from urllib.parse import urlsplit

from nwx.errors import ErrorText, UrlError
from nwx.steering.specifications.file_values import FileValue, shown_value
from nwx.steering.specifications.specification import (
    MAX_EXPRESSION_CHARACTERS,
    DueInterval,
    Entity,
    EntityKind,
    Keyword,
    Limits,
    LinkRule,
    RuleAction,
    RuleError,
    ScoreWeights,
    Thresholds,
    compile_expression,
    normal_host,
    normal_surt,
)
from nwx.values.urlkeys import urlkey
from nwx.values.urls import MAX_URL_CHARACTERS, host_parts

MOST_ENTRIES = 100_000
"""Most seeds, keywords, entities, or conditions of one list of a rule."""

MOST_EXAMPLES = 100
MOST_RULES = 10_000
MOST_EXPRESSIONS = 1_000
"""Most expressions of all rules together: each URL is compared with each."""

MOST_INSTRUCTIONS = 1_000_000
"""Most RE2 instructions of all expressions together: `a{1000}` has 1,000."""

MOST_CONDITIONS = 200_000
"""Most conditions of all rules together."""

MOST_ALIASES = 1_000
MOST_DAYS = 36_500.0
_MOST_WEIGHT = 1_000.0
_LEAST_WEIGHT = 0.001
_MOST_NUMBER = 10**15
_MOST_TEXT = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED = ("compare", "new")
_LANGUAGE = re.compile(r"[a-z]{2}")
_MOST_HOST = 253  # RFC 1035
_SURT_HOST = re.compile(r"[\w-]+(?:,[\w-]+)*(?::\d{1,5})?")
_CONDITIONS = ("expressions", "surts", "hosts")


def name_problem(name: str) -> ErrorText | None:
    """Return why a name is invalid for a crawl, None if it is valid."""
    if not _NAME.fullmatch(name):
        return ErrorText(
            "%(name)s is not a valid crawl name; use up to 100 letters, digits, dots, dashes and"
            " underscores, beginning with a letter or a digit",
            name=shown_value(name),
        )
    if name.lower() in _RESERVED:
        return ErrorText("%(name)s is the name of a page; choose another name", name=repr(name))
    return None


def url_problem(url: str) -> ErrorText | None:
    """Return why a crawler cannot fetch a URL, None if it can."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        urlkey(url)
    except (ValueError, UrlError) as error:
        return ErrorText("%(url)s is not a URL (%(reason)s)", url=shown_value(url), reason=error)
    if parts.scheme.lower() not in ("http", "https") or not host or " " in url:
        return ErrorText(
            "%(url)s is not a URL; write http://HOST/PATH or https://HOST/PATH",
            url=shown_value(url),
        )
    return None


def seeds_of(root: FileValue) -> Iterator[str]:
    """Yield the seeds, each once."""
    seen: dict[str, str] = {}
    for item in root["seeds"].items(MOST_ENTRIES):
        url = item.text(MAX_URL_CHARACTERS)
        if reason := url_problem(url) if url or item.found == "" else None:
            item.note(reason)
        elif url and item.is_first(url, seen):
            yield url


def examples_of(root: FileValue) -> Iterator[str]:
    """Yield the addresses and file names of example documents."""
    for item in root["like"].items(MOST_EXAMPLES):
        if text := item.text(MAX_URL_CHARACTERS):
            yield text


def keywords_of(root: FileValue, key: str = "keywords") -> Iterator[Keyword]:
    """Yield the keywords; a text is read as a keyword of weight 1 in any language."""
    seen: dict[tuple[str, str], str] = {}
    known = [field.name for field in fields(Keyword)]
    for table in root[key].tables(MOST_ENTRIES, known, "text"):
        text = _words(table, "text")
        language = table["language"].text()
        if language and not _LANGUAGE.fullmatch(language):
            why = ErrorText("is %(value)s; use two lower-case letters", value=shown_value(language))
            table["language"].note(why)
        weight = table["weight"].number(1.0, _LEAST_WEIGHT, _MOST_WEIGHT)
        if text and table.is_first((text.casefold(), language), seen):
            yield Keyword(text, weight, language)


def entities_of(root: FileValue) -> Iterator[Entity]:
    """Yield the entities; a text is read as an entity with only that name."""
    seen: dict[str, str] = {}
    known = [field.name for field in fields(Entity)]
    for table in root["entities"].tables(MOST_ENTRIES, known, "name"):
        name = _words(table, "name")
        aliases = dict.fromkeys(_aliases(table))
        kind = table["kind"].choice(list(EntityKind), EntityKind.OTHER)
        identifier = table["identifier"].text()
        weight = table["weight"].number(1.0, _LEAST_WEIGHT, _MOST_WEIGHT)
        if name and table.is_first(name.casefold(), seen):
            unique = tuple(one for one in aliases if one != name)
            yield Entity(name, unique, EntityKind(kind), identifier, weight)


def _aliases(table: FileValue) -> Iterator[str]:
    for item in table["aliases"].items(MOST_ALIASES):
        if text := item.text(_MOST_TEXT):
            yield text
        elif isinstance(item.found, str) and not item.found.strip():
            item.note(ErrorText("is empty"))


def _words(table: FileValue, key: str) -> str:
    """Return a required text with letters or digits, "" if missing or invalid."""
    value = table[key]
    text = value.text(_MOST_TEXT)
    if not value.is_there:
        table.note(ErrorText("has no %(key)s", key=repr(key)))
    elif text and not any(sign.isalnum() for sign in text):
        value.note(ErrorText("%(text)s has neither letters nor digits", text=shown_value(text)))
        return ""
    elif not text and isinstance(value.found, str):
        value.note(ErrorText("is empty"))
    return text


def rules_of(root: FileValue) -> Iterator[LinkRule]:
    """Yield the link rules."""
    expressions, conditions = 0, 0
    sizes: list[int] = []
    for table in root["rules"].tables(MOST_RULES, ("action", *_CONDITIONS)):
        action = table["action"].choice(list(RuleAction), RuleAction.PREFER)
        if not table["action"].is_there:
            table.note(
                ErrorText("has no 'action'; use one of %(choices)s", choices=", ".join(RuleAction))
            )
        if _is_for_all(table):
            choices = ", ".join(_CONDITIONS)
            table.note(ErrorText("covers nothing; it needs one of %(choices)s", choices=choices))
        rule = LinkRule(
            RuleAction(action),
            tuple(_expressions(table["expressions"], sizes)),
            tuple(_conditions(table["surts"], _surt_problem)),
            tuple(_conditions(table["hosts"], _host_problem)),
        )
        expressions += len(rule.expressions)
        conditions += sum(len(getattr(rule, key)) for key in _CONDITIONS)
        yield rule
        if expressions > MOST_EXPRESSIONS or conditions > MOST_CONDITIONS:
            root["rules"].note(
                ErrorText(
                    "have more than %(expressions)s expressions, or more than %(conditions)s"
                    " conditions; remove some",
                    expressions=MOST_EXPRESSIONS,
                    conditions=MOST_CONDITIONS,
                )
            )
            return


def _is_for_all(table: FileValue) -> bool:
    return not any(table[key].is_there and table[key].found for key in _CONDITIONS)


def _expressions(values: FileValue, sizes: list[int]) -> Iterator[str]:
    """Yield the valid expressions of a rule; append their RE2 program sizes to `sizes`.

    `sizes` already has the sizes of all earlier expressions.
    """
    for item in values.items(MOST_EXPRESSIONS):
        text = item.found
        if not isinstance(text, str) or len(text) > MAX_EXPRESSION_CHARACTERS:
            item.text(MAX_EXPRESSION_CHARACTERS)
            continue
        if not text:
            item.note(ErrorText("is empty, and would cover everything"))
            continue
        try:
            sizes.append(compile_expression(text).programsize)
        except (RuleError, UnicodeError) as error:
            why = ErrorText(
                "RE2 does not accept %(text)s: %(reason)s", text=shown_value(text), reason=error
            )
            item.note(why)
            continue
        if sum(sizes) > MOST_INSTRUCTIONS:
            item.note(
                ErrorText(
                    "%(text)s and the expressions before it have too many repetitions or classes",
                    text=shown_value(text),
                )
            )
            return
        yield text


def _conditions(values: FileValue, problem: Callable[[str], ErrorText | None]) -> Iterator[str]:
    for item in values.items(MOST_ENTRIES):
        text = item.text(MAX_URL_CHARACTERS)
        is_text = isinstance(item.found, str) and (text or not item.found.strip())
        if reason := problem(text) if is_text else None:
            item.note(reason)
        elif text:
            yield text


def _surt_problem(text: str) -> ErrorText | None:
    shown = shown_value(text)
    if "://" in text and "(" not in text:
        if url_problem(text):
            return ErrorText("%(text)s is not a SURT prefix", text=shown)
        key = urlkey(text)
        prefix = f"{key}/" if text.endswith("/") and not key.endswith("/") else key
        return ErrorText(
            "%(text)s is not a SURT prefix; write its SURT prefix %(prefix)s",
            text=shown,
            prefix=repr(prefix),
        )
    host = normal_surt(text).partition(")")[0]
    if len(host) > _MOST_HOST:
        return ErrorText(
            "%(text)s is not a SURT prefix; a host has at most %(most)s characters",
            text=shown,
            most=_MOST_HOST,
        )
    if not _SURT_HOST.fullmatch(host) or ("." in host and "," not in host):
        return ErrorText(
            "%(text)s is not a SURT prefix; write 'org,example)/path' or 'org,example'", text=shown
        )
    return None


def _host_problem(text: str) -> ErrorText | None:
    shown = shown_value(text)
    if len(text) > _MOST_HOST:
        return ErrorText(
            "%(text)s is not a host; it has at most %(most)s characters",
            text=shown,
            most=_MOST_HOST,
        )
    parts = host_parts(normal_host(text))
    has_port = ":" in text.rpartition("]")[2]
    if has_port and parts.domain and "/" not in text and "," not in text:
        return ErrorText(
            "%(text)s has a port, which rules ignore; write %(host)s",
            text=shown,
            host=repr(text.rpartition(":")[0]),
        )
    if not text or not parts.domain or has_port or "/" in text or "," in text:
        return ErrorText(
            "%(text)s is not a host; write 'example.org', which covers www.example.org", text=shown
        )
    return None


def limits_of(root: FileValue) -> Limits:
    """Return the limits."""
    least = {"depth": 0, "pages": 1, "pages_per_host": 1}
    table = root["limits"].table(least)
    return Limits(**{key: table[key].whole_number(low, _MOST_NUMBER) for key, low in least.items()})


def weights_of(root: FileValue) -> ScoreWeights:
    """Return the weights of the parts of relevance."""
    found = _numbers(root["weights"], asdict(ScoreWeights()), _MOST_WEIGHT)
    if not any(found.values()):
        root["weights"].note(ErrorText("are all 0; at least one must be above 0"))
    return ScoreWeights(**found)


def thresholds_of(root: FileValue) -> Thresholds:
    """Return the thresholds."""
    return Thresholds(**_numbers(root["thresholds"], asdict(Thresholds()), 1))


def _numbers(value: FileValue, usual: dict[str, float], most: float) -> dict[str, float]:
    table = value.table(usual)
    return {name: table[name].number(default, 0, most) for name, default in usual.items()}


def intervals_of(root: FileValue) -> Iterator[DueInterval]:
    """Yield the intervals after which pages are due."""
    for_all = ""
    for table in root["intervals"].tables(MOST_ENTRIES, ("days", "surts", "hosts")):
        if not table["days"].is_there:
            table.note(ErrorText("has no %(key)s", key="'days'"))
        days = table["days"].number(1.0, _LEAST_WEIGHT, MOST_DAYS)
        surts = tuple(_conditions(table["surts"], _surt_problem))
        hosts = tuple(_conditions(table["hosts"], _host_problem))
        if _is_for_all(table):
            if for_all:
                table.note(ErrorText("applies to all pages, as %(place)s does", place=for_all))
            for_all = for_all or table.path
        yield DueInterval(days, surts, hosts)
