"""Crawl specifications as TOML, JSON and form fields, and detection of contradictory rules."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Literal

import tomli_w

from nwx.errors import ErrorText, SpecificationError, UsageError
from nwx.keys import check_collection
from nwx.steering.specifications import parts
from nwx.steering.specifications.file_values import (
    FileValue,
    FoundProblems,
    SpecificationProblem,
    shown_value,
    too_long,
)
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    Keyword,
    LinkRule,
    LinkRules,
    RuleAction,
    SurtPrefixes,
    covering_hosts,
    normal_host,
    normal_surt,
    rule_conditions,
)


def contradictions(specification: CrawlSpecification) -> Iterator[SpecificationProblem]:
    """Yield rules made useless by others, and seeds that the rules exclude."""
    blacklist = _Conditions(specification.rules, RuleAction.BLACKLIST)
    only = _Conditions(specification.rules, RuleAction.ONLY)
    for number, rule in enumerate(specification.rules, 1):
        if rule.action is RuleAction.BLACKLIST:
            continue
        for name, index, text in rule_conditions(rule):
            place = f"rules[{number}].{name}[{index + 1}]"
            if cover := blacklist.covering(name, text):
                why = ErrorText(
                    "%(text)s has no effect: %(place)s blacklists it",
                    text=shown_value(text),
                    place=cover,
                )
                yield SpecificationProblem(place, why)
            elif rule.action is RuleAction.PREFER and only.excludes(name, text):
                why = ErrorText(
                    "%(text)s has no effect: no rule of the action only covers it",
                    text=shown_value(text),
                )
                yield SpecificationProblem(place, why)
    yield from _forbidden_seeds(specification)


def _forbidden_seeds(specification: CrawlSpecification) -> Iterator[SpecificationProblem]:
    rules = LinkRules(specification.rules)
    for number, seed in enumerate(specification.seeds, 1):
        verdict = rules.verdict(seed)
        if verdict.blacklisted:
            why = ErrorText("is blacklisted: %(rule)s", rule=verdict.rule)
            yield SpecificationProblem(f"seeds[{number}]", why)
        elif verdict.outside:
            why = ErrorText("is outside of the crawl: %(rule)s", rule=verdict.rule)
            yield SpecificationProblem(f"seeds[{number}]", why)


class _Conditions:
    """Conditions of the rules of one action, and where each is defined."""

    def __init__(self, rules: tuple[LinkRule, ...], action: RuleAction) -> None:
        self._places: dict[tuple[str, str], str] = {}
        for number, rule in enumerate(rules, 1):
            if rule.action is action:
                for name, index, text in rule_conditions(rule):
                    key = (name, _normal(name, text))
                    self._places.setdefault(key, f"rules[{number}].{name}[{index + 1}]")
        self._surts = SurtPrefixes(text for name, text in self._places if name == "surts")
        hosts = (_host(name, text) for name, text in self._places if name != "expressions")
        self._above = {above for host in hosts for above in covering_hosts(host)}
        self._is_exact = all(name != "expressions" for name, _ in self._places)

    def covering(self, name: str, text: str) -> str:
        """Return the place of a condition that covers all URLs of a given one, "" if none."""
        normal = _normal(name, text)
        if (name, normal) in self._places:
            return self._places[name, normal]
        if name == "expressions":
            return ""
        surt = normal if name == "surts" else ",".join(reversed(normal.split(".")))
        for known in covering_hosts(_host("surts", surt)):
            if ("hosts", known) in self._places:
                return self._places["hosts", known]
        found = self._surts.covering(surt)
        return self._places.get(("surts", found), "")

    def excludes(self, name: str, text: str) -> bool:
        """Return whether these conditions, if any, certainly cover no URL of a given one."""
        if not self._places or not self._is_exact or name == "expressions":
            return False
        host = _host(name, _normal(name, text))
        return not self.covering(name, text) and host not in self._above


def _normal(name: str, text: str) -> str:
    if name == "hosts":
        return normal_host(text)
    return normal_surt(text) if name == "surts" else text


def _host(name: str, normal: str) -> str:
    """Return the host of a condition in its normal form."""
    if name == "hosts":
        return normal
    return ".".join(reversed(normal.partition(")")[0].partition(":")[0].split(",")))


MOST_SPECIFICATION_CHARACTERS = 32 << 20
_DEEPEST_KEY = 50
_DOTTED = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    rf"{{{_DEEPEST_KEY}}}"
)
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), )?(column \d+|end of document)\)$")
_KEYS = [field.name for field in fields(CrawlSpecification)]


def read_specification(text: str, place: str) -> CrawlSpecification:
    """Return the specification in a TOML or JSON text; `place` names the file in messages.

    Raises SpecificationError with all problems.
    """
    problems = FoundProblems()
    text = text.removeprefix("\ufeff")
    root = FileValue(read_values(text, place), "", problems).table(_KEYS)
    specification = CrawlSpecification(
        name=_name(root),
        seeds=tuple(parts.seeds_of(root)),
        keywords=tuple(parts.keywords_of(root)),
        like=tuple(parts.examples_of(root)),
        like_words=tuple(parts.keywords_of(root, "like_words")),
        entities=tuple(parts.entities_of(root)),
        rules=tuple(parts.rules_of(root)),
        limits=parts.limits_of(root),
        weights=parts.weights_of(root),
        thresholds=parts.thresholds_of(root),
        intervals=tuple(parts.intervals_of(root)),
        collection=_collection(root["collection"]),
        queue=_queue(root["queue"]),
    )
    problems.check(place, text)
    problems.extend(contradictions(specification))
    problems.check(place, text)
    return specification


def read_values(text: str, place: str = "") -> Mapping[str, Any]:
    """Return the values in a TOML or JSON text; raises SpecificationError if it is invalid."""
    at, line = "", 0
    try:
        if len(text) > MOST_SPECIFICATION_CHARACTERS:
            why = too_long(text, MOST_SPECIFICATION_CHARACTERS)
        elif not text.strip():
            why = ErrorText("is empty; it needs at least a name")
        else:
            return _json(text) if text.lstrip().startswith("{") else _toml(text)
    except RecursionError:
        why = ErrorText("tables or lists are nested too deeply")
    except json.JSONDecodeError as error:
        at, line = f"column {error.colno}", error.lineno
        why = ErrorText("is not JSON: %(reason)s", reason=error.msg)
    except ValueError as error:  # tomllib.TOMLDecodeError, and numbers of thousands of digits
        if found := _TOML_PLACE.search(str(error)):
            at, line = found[2], int(found[1] or 0)
        why = ErrorText("cannot be read: %(reason)s", reason=_TOML_PLACE.sub("", str(error)))
    raise SpecificationError(place, [SpecificationProblem(at, why, line)])


def _json(text: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(text, object_pairs_hook=_object)
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {shown_value(twice)} occurs twice")
    return found


def _toml(text: str) -> Mapping[str, Any]:
    # tomllib's time grows with the square of the parts of a key.
    if found := _DOTTED.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"the key has too many parts (at line {line}, column 1)")
    return tomllib.loads(text)


def _name(root: FileValue) -> str:
    value = root["name"]
    name = value.text()
    if not value.is_there:
        root.note(ErrorText("has no 'name', the name of the crawl"))
    elif isinstance(value.found, str) and (reason := parts.name_problem(name)):
        value.note(reason)
    return name


def _collection(value: FileValue) -> str:
    name = value.text()
    if name:
        try:
            check_collection(name)
        except UsageError as error:
            value.note(error.text)
    return name


def _queue(value: FileValue) -> str:
    address = value.text()
    if address and (reason := parts.url_problem(address)):
        value.note(reason)
    return address


def write_specification(
    specification: CrawlSpecification, form: Literal["toml", "json"] = "toml"
) -> str:
    """Return a specification as text for `read_specification`, without default values."""
    values = {"name": specification.name} | _unusual(specification)
    if form == "json":
        return json.dumps(values, ensure_ascii=False, indent=2) + "\n"
    return tomli_w.dumps(values)


def _unusual(part: Any) -> Any:
    """Return the values of a part of a specification that differ from the defaults."""
    found: dict[str, Any] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            value = _unusual(value)
        elif isinstance(value, tuple):
            value = [_unusual(one) if is_dataclass(one) else one for one in value]
        if value != field.default and value not in ([], {}):
            found[field.name] = value
    if isinstance(part, Keyword) and found.keys() == {"text"}:
        return part.text
    return found


_LISTS = ("seeds", "keywords", "like", "preferred", "blacklisted")
_ACTIONS = {"preferred": "prefer", "blacklisted": "blacklist"}


@dataclass(frozen=True, slots=True)
class SpecificationForm:
    """The fields of a form; lists have one item a line.

    `preferred` and `blacklisted` are hosts, `relevant` is the threshold of relevance.
    """

    name: str = ""
    seeds: str = ""
    keywords: str = ""
    like: str = ""
    preferred: str = ""
    blacklisted: str = ""
    collection: str = ""
    relevant: str = ""


FORM_FIELDS = tuple(field.name for field in fields(SpecificationForm))


def form_of_text(text: str) -> SpecificationForm | None:
    """Return the fields of a specification's text, None if it is neither TOML nor JSON."""
    try:
        found = read_values(text)
    except SpecificationError:
        return None
    lists = {name: "\n".join(map(_item_text, _listed(found, name))) for name in _LISTS}
    thresholds = found.get("thresholds")
    relevant = thresholds.get("relevant", "") if isinstance(thresholds, Mapping) else ""
    named = {name: str(found.get(name, "")) for name in ("name", "collection")}
    return SpecificationForm(**named, **lists, relevant=str(relevant))


def text_with_form(text: str, form: SpecificationForm) -> str:
    """Return a specification's text with the fields of a form; all other values are kept.

    Comments are lost. Remaining keywords keep their weights and languages; changed examples remove
    `like_words`. Raises SpecificationError if the text is neither TOML nor JSON.
    """
    found = {name: value for name, value in read_values(text).items() if name not in asdict(form)}
    old = read_values(text)
    known = {_item_text(one): one for one in _listed(old, "keywords")}
    values: dict[str, Any] = {
        "name": form.name.strip(),
        "seeds": _lines(form.seeds),
        "keywords": [known.get(one, one) for one in _lines(form.keywords)],
        "like": _lines(form.like),
        "collection": form.collection.strip(),
    }
    made = {name: value for name, value in values.items() if value or name in ("name", "seeds")}
    made |= found
    if old.get("like", []) != values["like"]:
        made.pop("like_words", None)
    made["rules"] = _rules(made.get("rules", []), form)
    thresholds = {**made.get("thresholds", {}), "relevant": _number(form.relevant)}
    made["thresholds"] = {name: one for name, one in thresholds.items() if one != ""}
    made = {name: one for name, one in made.items() if one or name in ("name", "seeds")}
    if text.lstrip().startswith("{"):
        return json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    return tomli_w.dumps(made, multiline_strings=True)


def _listed(found: Mapping[str, Any], name: str) -> list[Any]:
    if name in _ACTIONS:
        rule = next((one for one in _dicts(found.get("rules")) if _is_of(one, name)), {})
        found, name = rule, "hosts"
    value = found.get(name, [])
    return list(value) if isinstance(value, list) else []


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _is_of(rule: Mapping[str, Any], name: str) -> bool:
    return rule.get("action") == _ACTIONS[name] and set(rule) <= {"action", "hosts"}


def _rules(rules: Any, form: SpecificationForm) -> list[dict[str, Any]]:
    """Return rules with the hosts of the form in the first hosts-only rule of each action."""
    made, waiting = list[dict[str, Any]](), dict(_ACTIONS)
    for rule in _dicts(rules):
        name = next((one for one in waiting if _is_of(rule, one)), "")
        if name:
            del waiting[name]
            rule = {"action": _ACTIONS[name], "hosts": _lines(getattr(form, name))}
        made.append(rule)
    made += ({"action": _ACTIONS[one], "hosts": _lines(getattr(form, one))} for one in waiting)
    return [one for one in made if one.get("hosts") or len(one) > 2 or "hosts" not in one]


def _item_text(item: Any) -> str:
    return str(item.get("text", "")) if isinstance(item, dict) else str(item)


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _number(text: str) -> float | str:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text.strip()
