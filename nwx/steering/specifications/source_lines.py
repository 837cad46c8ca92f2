"""On which line of a TOML or JSON text each value begins."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

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
    """Return the lines, counted from 1, of all values by their paths: `rules[2].hosts[1]`.

    `text` must be one that can be parsed. Nothing is found in a very long one.
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
        return {}  # what is nested so deeply has no lines; why it is wrong is told anyway
    return scan.lines


class _Scan:
    """Goes once through the tokens of a text that is known to be well-formed."""

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
