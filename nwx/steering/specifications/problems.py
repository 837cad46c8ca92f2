"""Problems of a crawl specification: the place, line and reason of each."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from nwx.errors import SpecificationError

MOST_SCANNED_CHARACTERS = 2 << 20
"""In longer texts lines are not looked for."""

_LONGEST_PATH = 200  # characters; what has a longer one is no part of a specification

_TOKEN = re.compile(
    r'(?P<text>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')'
    r"|(?P<comment>#[^\n]*)|(?P<sign>[\[\]{},=\n])|(?P<colon>:)|(?P<word>[^\s\[\]{},=:\"'#]+)",
    re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def value_lines(text: str) -> dict[str, int]:
    """Return the line (from 1) of every value by its path, such as `rules[2].hosts[1]`.

    `text` must be well-formed. The result is empty for a very long text.
    """
    if len(text) > MOST_SCANNED_CHARACTERS:
        return {}
    scan = _Scan(text)
    try:
        if text.lstrip().startswith("{"):
            scan.value("")
        else:
            scan.document()
    except RecursionError:
        return {}  # nested too deeply; the problem is reported without its line
    return scan.lines


class _Scan:
    """Single pass over the tokens of a well-formed text."""

    def __init__(self, text: str) -> None:
        self.lines: dict[str, int] = {}
        self._tokens = list(_tokens(text))
        self._at = 0
        self._counts: Counter[str] = Counter()

    def _is(self, *texts: str) -> bool:
        token = self._peek()
        return token is not None and token.kind in ("sign", "colon") and token.text in texts

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _skip(self, *texts: str) -> None:
        while self._is(*texts):
            self._at += 1

    def document(self) -> None:
        """Read a TOML document: headers of tables, and keys with values."""
        table = ""
        self._skip("\n")
        while (token := self._peek()) is not None:
            if self._is("["):
                table = self._header(token.line)
            else:
                self._entry(table)
            self._skip("\n", ",", "]", "}")

    def _header(self, line: int) -> str:
        """Read `[table]` or `[[list]]`; return its path."""
        begin = self._at
        self._skip("[")
        is_list = self._at - begin > 1
        path = self._key(("]",))
        if is_list:
            self.lines.setdefault(path, line)
            self._counts[path] += 1
            path = _inside(path, f"[{self._counts[path]}]")
        self.lines[path] = line
        self._skip("]")
        return path

    def _entry(self, table: str) -> None:
        token = self._peek()
        key = self._key(("=", ":"))
        path = _inside(table, f".{key}") if table else key
        if token is not None:
            self.lines.setdefault(path, token.line)
        if self._is("=", ":"):
            self._at += 1
            self.value(path)

    def _key(self, ends: tuple[str, ...]) -> str:
        parts = []
        while (token := self._peek()) is not None and not self._is(*ends, "\n"):
            parts.append(token.text.strip("\"'"))
            self._at += 1
        return "".join(parts)[:_LONGEST_PATH]

    def value(self, path: str) -> None:
        """Read a value: a list, a table, or anything else up to its end."""
        self._skip("\n")
        if self._is("["):
            self._list(path)
        elif self._is("{"):
            self._table(path)
        else:
            while self._peek() is not None and not self._is(",", "]", "}", "\n"):
                self._at += 1

    def _list(self, path: str) -> None:
        self._at += 1
        number = 0
        self._skip("\n", ",")
        while (token := self._peek()) is not None and not self._is("]"):
            number += 1
            place = _inside(path, f"[{number}]")
            self.lines.setdefault(place, token.line)
            self.value(place)
            self._skip("\n", ",")
        self._at += 1

    def _table(self, path: str) -> None:
        self._at += 1
        self._skip("\n", ",")
        while self._peek() is not None and not self._is("}"):
            before = self._at
            self._entry(path)
            self._skip("\n", ",")
            self._at = max(self._at, before + 1)
        self._at += 1


def _inside(path: str, part: str) -> str:
    """Return the path of a part, or that of the whole where it would be too long."""
    return path + part if len(path) + len(part) <= _LONGEST_PATH else path


def _tokens(text: str) -> Iterator[_Token]:
    line, at = 1, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        if found.lastgroup != "comment":
            yield _Token(found.lastgroup or "", found[0], line)


MOST_PROBLEMS = 1_000
"""So many are listed; a file with more is something else than a specification."""


@dataclass(frozen=True, slots=True)
class SpecificationProblem:
    """One problem in a specification.

    `place` is a path with lists counted from 1 (`keywords[2].weight`), a column if the text cannot
    be parsed, or "" for the whole text. `line` is 0 if unknown.
    """

    place: str
    reason: str
    line: int = 0

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        return ": ".join(filter(None, (", ".join(filter(None, (line, self.place))), self.reason)))


class FoundProblems:
    """The problems found so far."""

    def __init__(self) -> None:
        self._found: list[SpecificationProblem] = []
        self._further = 0

    def add(self, place: str, reason: str) -> None:
        """Take one more; of very many only the number is kept."""
        if len(self._found) < MOST_PROBLEMS:
            self._found.append(SpecificationProblem(place, reason))
        else:
            self._further += 1

    @property
    def is_full(self) -> bool:
        """Return whether further problems are only counted."""
        return len(self._found) == MOST_PROBLEMS

    def extend(self, problems: Iterable[SpecificationProblem]) -> None:
        """Take more."""
        for problem in problems:
            self.add(problem.place, problem.reason)

    def check(self, file: str, text: str) -> None:
        """Raise SpecificationError where something is wrong with a text, with its lines."""
        if not self._found:
            return
        lines = value_lines(text)
        found = [replace(one, line=_line(one.place, lines)) for one in self._found]
        if self._further:
            found.append(SpecificationProblem("", f"… and {self._further:,} more problems"))
        raise SpecificationError(file, found)


def _line(place: str, lines: Mapping[str, int]) -> int:
    """Return the line of a path or of its nearest known parent, 0 if neither is known."""
    while place and place not in lines:
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    return lines.get(place, 0)
