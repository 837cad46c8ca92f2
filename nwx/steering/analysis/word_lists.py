"""The words by which analysis reads texts and links, from `word_lists.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class WordLists:
    """WordLists in lower case; `months` has their numbers, others are by role or language."""

    particles: frozenset[str]
    person_titles: frozenset[str]
    organisation_ends: frozenset[str]
    organisation_starts: frozenset[str]
    not_in_compounds: frozenset[str]
    advertisers: frozenset[str]
    months: Mapping[str, int]
    link_roles: Mapping[str, frozenset[str]]
    closed_words: Mapping[str, frozenset[str]]


def _read() -> WordLists:
    found = tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))
    months = found.pop("months")
    values: dict[str, Any] = {
        name: {key: frozenset(words.split()) for key, words in value.items()}
        if isinstance(value, dict)
        else frozenset(value.split())
        for name, value in found.items()
    }
    numbers = {name: number for number, names in enumerate(months, 1) for name in names.split()}
    return WordLists(months=numbers, **values)


WORD_LISTS = _read()
