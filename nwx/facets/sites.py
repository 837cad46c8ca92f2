"""The list of sites that a user may have: URL prefixes and their names."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path

from nwx.errors import SourceError, UsageError
from nwx.values.urlkeys import urlkey

_ALL_HOSTS = "*."
_END = "\n"
_BLANKS = re.compile(r"\s+")


class Sites:
    """Names of URLs by the longest beginning of the urlkey that has one."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._keys = sorted(names)
        self._names = [names[key] for key in self._keys]
        self._parents = _parents(self._keys)

    @property
    def by_key(self) -> dict[str, str]:
        """The names by beginnings of urlkeys."""
        return dict(zip(self._keys, self._names, strict=True))

    def names(self, urlkeys: Sequence[str | None], others: Sequence[str]) -> list[str]:
        """Return the names of URLs by their urlkeys, those of `others` where they have none."""
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

    A line is a prefix of URLs, white space and a name. `http://`,
    `https://` and `www.` make no difference; `example.org` is that host
    with all its paths, `*.example.org` also the hosts below it. Lines that
    begin with # are remarks.
    Raises SourceError on a file that cannot be read, UsageError on a wrong line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"the list of sites {path} cannot be read: {error}") from error
    names: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        prefix, _, name = _BLANKS.sub(" ", line.strip()).partition(" ")
        if prefix and not prefix.startswith("#"):
            if not name:
                raise UsageError(f"{path}, line {number}: no name; write URL-PREFIX NAME")
            names |= dict.fromkeys(_keys(prefix), name)
    return Sites(names)


def _keys(prefix: str) -> list[str]:
    """Return the beginnings of urlkeys that a prefix stands for."""
    everywhere = prefix.startswith(_ALL_HOSTS)
    bare = prefix.removeprefix(_ALL_HOSTS)
    key = urlkey(bare if "://" in bare else f"http://{bare}")
    host, _, path = key.partition(")")
    # An urlkey has lost the slash at its end: what is below it is not what begins alike.
    keys = [key + end for end in ("/", "?", _END)] if bare.endswith("/") and path != "/" else [key]
    return [*keys, f"{host},"] if everywhere else keys


def _parents(keys: Sequence[str]) -> list[int]:
    """Return for each of sorted keys the longest other one that it begins with, -1 for none."""
    parents: list[int] = []
    for place, key in enumerate(keys):
        parent = place - 1
        while parent >= 0 and not key.startswith(keys[parent]):
            parent = parents[parent]
        parents.append(parent)
    return parents
