"""The user's list of sites: URL prefixes and their names."""

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nwx.errors import SourceError, UsageError
from nwx.values.urlkeys import urlkey

_ALL_HOSTS = "*."
_END = "\n"
_BLANKS = re.compile(r"\s+")


class Sites:
    """Names of URLs by the longest matching prefix of the urlkey.

    `without_effect` are the lines of a list that are overridden by other lines.
    """

    def __init__(self, names: Mapping[str, str], without_effect: Sequence[str] = ()) -> None:
        self.without_effect = tuple(without_effect)
        self._keys = sorted(names)
        self._names = [names[key] for key in self._keys]
        self._parents = _parents(self._keys)

    @property
    def by_key(self) -> dict[str, str]:
        """The names by prefix of urlkeys."""
        return dict(zip(self._keys, self._names, strict=True))

    def names(self, urlkeys: Sequence[str | None], others: Sequence[str]) -> list[str]:
        """Return the names of URLs by their urlkeys, or the name in `others` if none matches."""
        return [
            self._name(f"{key or ''}{_END}") or other
            for key, other in zip(urlkeys, others, strict=True)
        ]

    def _name(self, key: str) -> str:
        place = bisect_right(self._keys, key) - 1
        while place >= 0 and not key.startswith(self._keys[place]):
            place = self._parents[place]
        return self._names[place] if place >= 0 else ""


def read_sites(path: Path) -> Sites:
    """Return the list of sites of a file.

    A line is a URL prefix, white space and a name. `http://`, `https://` and `www.` are ignored;
    `example.org` is that host with all its paths, `*.example.org` also its subdomains. The most
    specific line applies, in any order. Lines that begin with # are comments. Raises SourceError
    on a file that cannot be read, UsageError on an invalid line.
    """
    with SourceError.instead_of(
        (OSError, UnicodeDecodeError), f"the list of sites {path} cannot be read"
    ):
        lines = path.read_text(encoding="utf-8").splitlines()
    rules: dict[str, _Rule] = {}
    for number, line in enumerate(lines, 1):
        prefix, _, name = _BLANKS.sub(" ", line.strip()).partition(" ")
        if prefix and not prefix.startswith("#"):
            if not name:
                raise UsageError(f"{path}, line {number}: no name; write URL-PREFIX NAME")
            for rule in _rules(prefix, name, number):
                _add(rules, rule)
    named = {key: rule.name for key, rule in rules.items()}
    return Sites(named, _without_effect(lines, {rule.line for rule in rules.values()}))


@dataclass(frozen=True, slots=True)
class _Rule:
    """The name of urlkeys with the prefix `key`; `is_wide` for `host` itself in `*.host`."""

    key: str
    name: str
    line: int
    is_wide: bool = False


def _add(rules: dict[str, _Rule], rule: _Rule) -> None:
    """Add a rule unless a more specific one exists; of equal ones the last applies."""
    other = rules.get(rule.key)
    if other is None or other.is_wide or not rule.is_wide:
        rules[rule.key] = rule


def _without_effect(lines: Sequence[str], in_use: Collection[int]) -> tuple[str, ...]:
    """Return a message for each line that is overridden by other lines."""
    return tuple(
        f"line {number} has no effect, as other lines name its URLs: {line.strip()}"
        for number, line in enumerate(lines, 1)
        if number not in in_use and line.strip() and not line.strip().startswith("#")
    )


def _rules(prefix: str, name: str, line: int) -> list[_Rule]:
    everywhere = prefix.startswith(_ALL_HOSTS)
    bare = prefix.removeprefix(_ALL_HOSTS)
    key = urlkey(bare if "://" in bare else f"http://{bare}")
    host, _, path = key.partition(")")
    # A urlkey has no final slash: keys with the same beginning need not be below the path.
    keys = [key + end for end in ("/", "?", _END)] if bare.endswith("/") and path != "/" else [key]
    rules = [_Rule(key, name, line, is_wide=everywhere) for key in keys]
    return [*rules, _Rule(f"{host},", name, line)] if everywhere else rules


def _parents(keys: Sequence[str]) -> list[int]:
    """Return for each of sorted keys the index of its longest other prefix, -1 for none."""
    parents: list[int] = []
    for place, key in enumerate(keys):
        parent = place - 1
        while parent >= 0 and not key.startswith(keys[parent]):
            parent = parents[parent]
        parents.append(parent)
    return parents
