"""Values of a crawl specification file; every invalid value is recorded as a problem.

It is then treated as missing, so that all problems are found in one pass.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process

from nwx.errors import ErrorText, SpecificationError

MOST_SCANNED_CHARACTERS = 2 << 20
"""Longer texts are not scanned for lines."""

_LONGEST_PATH = 200  # characters; no part of a specification has a longer one

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
    """Return the path of a part, or `path` if that would be too long."""
    return path + part if len(path) + len(part) <= _LONGEST_PATH else path


def _tokens(text: str) -> Iterator[_Token]:
    line, at = 1, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        if found.lastgroup != "comment":
            yield _Token(found.lastgroup or "", found[0], line)


MOST_PROBLEMS = 1_000  # a file with more is not a specification


@dataclass(frozen=True, slots=True)
class SpecificationProblem:
    """One problem in a specification.

    `place` is a path with lists counted from 1 (`keywords[2].weight`), a column if the text cannot
    be parsed, or "" for the whole text. `line` is 0 if unknown.
    """

    place: str
    text: ErrorText
    line: int = 0

    @property
    def reason(self) -> str:
        """The problem in English."""
        return str(self.text)

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        return ": ".join(filter(None, (", ".join(filter(None, (line, self.place))), self.reason)))


class FoundProblems:
    """The problems found so far."""

    def __init__(self) -> None:
        self._found: list[SpecificationProblem] = []
        self._further = 0

    def add(self, place: str, text: ErrorText) -> None:
        """Add a problem; above MOST_PROBLEMS they are only counted."""
        if len(self._found) < MOST_PROBLEMS:
            self._found.append(SpecificationProblem(place, text))
        else:
            self._further += 1

    @property
    def is_full(self) -> bool:
        """Return whether additional problems are only counted."""
        return len(self._found) == MOST_PROBLEMS

    def extend(self, problems: Iterable[SpecificationProblem]) -> None:
        """Add problems."""
        for problem in problems:
            self.add(problem.place, problem.text)

    def check(self, file: str, text: str) -> None:
        """Raise SpecificationError with all problems and their lines in `text`, if any."""
        if not self._found:
            return
        lines = value_lines(text)
        found = [replace(one, line=_line(one.place, lines)) for one in self._found]
        if self._further:
            why = ErrorText("… and %(count)s more problems", count=self._further)
            found.append(SpecificationProblem("", why))
        raise SpecificationError(file, found)


def _line(place: str, lines: Mapping[str, int]) -> int:
    """Return the line of a path or of its nearest known parent, 0 if neither is known."""
    while place and place not in lines:
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    return lines.get(place, 0)


_SHOWN = 60
_ALIKE = 60.0
_TEXT, _LIST, _TABLE = ErrorText("text"), ErrorText("a list"), ErrorText("a table")
_WHOLE, _NUMBER = ErrorText("a whole number"), ErrorText("a number")
_KINDS: tuple[tuple[type | tuple[type, ...], ErrorText], ...] = (
    (bool, ErrorText("true or false")),
    (int, _WHOLE),
    (float, _NUMBER),
    (str, _TEXT),
    (list, _LIST),
    (dict, _TABLE),
    ((date, time), ErrorText("a date or time")),
)
_MISSING = object()


class FileValue:
    """A value at a path of a parsed file, or its absence; `problems` collects what is invalid."""

    def __init__(self, found: object, path: str, problems: FoundProblems) -> None:
        self.found, self.path, self.problems = found, path, problems

    def __getitem__(self, key: str) -> "FileValue":
        found = self.found.get(key, _MISSING) if isinstance(self.found, dict) else _MISSING
        return FileValue(found, f"{self.path}.{key}" if self.path else key, self.problems)

    @property
    def is_there(self) -> bool:
        """Whether the file has the value."""
        return self.found is not _MISSING

    def note(self, text: ErrorText) -> None:
        """Record a problem of the value."""
        self.problems.add(self.path, text)

    def is_first(self, key: object, seen: dict[Any, str]) -> bool:
        """Return whether a key is new; one `seen` at another path is recorded as a problem."""
        before = seen.setdefault(key, self.path)
        if before != self.path:
            self.note(ErrorText("is the same as %(place)s", place=before))
        return before == self.path

    def text(self, most: int = 1_000) -> str:
        """Return a stripped text of at most `most` characters, "" if missing or invalid."""
        found = self._of_kind(str, _TEXT)
        text = str(found or "").strip()
        if len(text) > most:
            self.note(too_long(text, most))
            return ""
        if not text.isprintable():
            self.note(ErrorText("%(text)s has control characters", text=shown_value(text)))
            return ""
        return text

    def choice(self, known: Sequence[str], default: str) -> str:
        """Return one of the `known` texts, in lower case, or `default`."""
        given = self.text().lower()
        if given and given not in known:
            self.note(_unknown(given, known))
        return given if given in known else default

    def number(self, default: float, least: float, most: float) -> float:
        """Return a number from `least` to `most`, inclusive, or `default`."""
        found = self._of_kind((int, float), _NUMBER)
        if found is None:
            return default
        if not least <= found <= most:  # rejects nan and inf too
            shown = shown_value(found) if isinstance(found, int) else f"{found:g}"
            self.note(_outside(shown, float(least), float(most)))
            return default
        return float(found)

    def whole_number(self, least: int, most: int) -> int | None:
        """Return a whole number from `least` to `most`, inclusive; None if missing or invalid."""
        found = self._of_kind(int, _WHOLE)
        if found is not None and not least <= found <= most:
            self.note(_outside(shown_value(found), least, most))
            return None
        return None if found is None else int(found)

    def items(self, most: int) -> "Iterator[FileValue]":
        """Yield the values of a list, none if it has more than `most`."""
        found = self._of_kind(list, _LIST) or []
        if len(found) > most:
            counts = {"count": len(found), "most": most}
            self.note(ErrorText("has %(count)s entries; at most %(most)s are allowed", **counts))
            return
        for number, value in enumerate(found, 1):
            yield FileValue(value, f"{self.path}[{number}]", self.problems)

    def table(self, known: Collection[str]) -> "FileValue":
        """Return the value as a table, and record unknown keys as problems."""
        found = self._of_kind(dict, _TABLE) or {}
        for key in found:
            if self.problems.is_full:
                break
            if key not in known:
                shown = key[:_SHOWN] if key.isprintable() else shown_value(key)
                self[shown].note(_unknown_key(key, known))
        return FileValue(found, self.path, self.problems)

    def tables(
        self, most: int, known: Collection[str], text_key: str = ""
    ) -> "Iterator[FileValue]":
        """Yield the tables of a list; a text is read as a table with only `text_key`."""
        for item in self.items(most):
            if text_key and isinstance(item.found, str):
                yield FileValue({text_key: item.found}, item.path, self.problems)
            elif isinstance(item.found, dict):
                yield item.table(known)
            else:
                wanted = ErrorText("a text or a table") if text_key else _TABLE
                item.note(_unlike(item.found, wanted))

    def _of_kind(self, kind: type | tuple[type, ...], name: ErrorText) -> Any:
        """Return the value if it is of a kind, else None."""
        if not self.is_there:
            return None
        if not isinstance(self.found, kind) or isinstance(self.found, bool):
            self.note(_unlike(self.found, name))
            return None
        return self.found


def shown_value(value: object) -> str:
    """Return a value as messages show it."""
    try:
        shown = repr(value)
    except ValueError:  # Python does not write integers of thousands of digits
        shown = "a number of thousands of digits"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def too_long(text: str, most: int) -> ErrorText:
    """Return the problem of a text with too many characters."""
    counts = {"count": len(text), "most": most}
    return ErrorText("has %(count)s characters; at most %(most)s are allowed", **counts)


def _like(text: str, known: Collection[str]) -> str:
    """Return the most similar known word, quoted, "" if none is similar."""
    like = process.extractOne(
        text[:100].lower(), list(known), scorer=fuzz.ratio, score_cutoff=_ALIKE
    )
    return repr(str(like[0])) if like else ""


def _unknown(text: str, known: Collection[str]) -> ErrorText:
    value = shown_value(text)
    if like := _like(text, known):
        return ErrorText("is %(value)s; did you mean %(like)s?", value=value, like=like)
    choices = ", ".join(known)
    return ErrorText("is %(value)s; choose one of %(choices)s", value=value, choices=choices)


def _unknown_key(key: str, known: Collection[str]) -> ErrorText:
    if like := _like(key, known):
        return ErrorText("is not known here; did you mean %(like)s?", like=like)
    return ErrorText("is not known here; known are %(choices)s", choices=", ".join(known))


def _outside(value: str, least: float, most: float) -> ErrorText:
    values = {"value": value, "least": least, "most": most}
    return ErrorText("is %(value)s; it must be from %(least)s to %(most)s", **values)


def _unlike(value: object, wanted: ErrorText) -> ErrorText:
    kind = next((name for kind, name in _KINDS if isinstance(value, kind)), ErrorText("nothing"))
    values = {"kind": kind, "value": shown_value(value), "wanted": wanted}
    return ErrorText("is %(kind)s (%(value)s); it must be %(wanted)s", **values)
