"""A crawl specification as the fields of a form: what most people set, beside its text."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import tomli_w

from nwx.errors import SpecificationError
from nwx.steering.specifications.specification_files import read_values

_LISTS = ("seeds", "keywords", "preferred", "blacklisted")
_ACTIONS = {"preferred": "prefer", "blacklisted": "blacklist"}


@dataclass(frozen=True, slots=True)
class SpecificationForm:
    """The fields of a form; lists have an item a line.

    `preferred` and `blacklisted` are hosts, `relevant` is the threshold of relevance.
    """

    name: str = ""
    seeds: str = ""
    keywords: str = ""
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
    """Return a specification's text with the fields of a form; all else in it is kept.

    Comments are lost. Keywords that stay keep their weights and languages. Raises
    SpecificationError if the text is neither TOML nor JSON.
    """
    found = {name: value for name, value in read_values(text).items() if name not in asdict(form)}
    old = read_values(text)
    known = {_item_text(one): one for one in _listed(old, "keywords")}
    values: dict[str, Any] = {
        "name": form.name.strip(),
        "seeds": _lines(form.seeds),
        "keywords": [known.get(one, one) for one in _lines(form.keywords)],
        "collection": form.collection.strip(),
    }
    made = {name: value for name, value in values.items() if value or name in ("name", "seeds")}
    made |= found
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
    """Return rules, those of an action with hosts alone having the hosts of the form."""
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
