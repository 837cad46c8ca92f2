"""Values of a parsed file, taken out of its tables one by one; what is wrong is noted.

A value that is wrong is noted and given as if it was not there, so that all
problems are found at once.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, time
from typing import Any

from nwx.steering.specifications.problems import FoundProblems

_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "text"),
    (list, "a list"),
    (dict, "a table"),
    ((date, time), "a date or time"),
)
_SHOWN = 60
_ALIKE = 60.0


class Table:
    """A table at a path; `problems` is where all that is wrong is noted."""

    def __init__(self, values: Mapping[str, Any], path: str, problems: FoundProblems) -> None:
        self._values = values
        self._path = path
        self.problems = problems

    def place(self, key: str) -> str:
        """Return the path of a key."""
        return f"{self._path}.{key}" if self._path else key

    def note(self, key: str, reason: str) -> None:
        """Note that something is wrong with a key, "" is the table itself."""
        self.problems.add(self.place(key) if key else self._path, reason)

    def check_keys(self, known: Collection[str]) -> None:
        """Note the keys that are not known, with the most similar one that is."""
        for key in self._values:
            if self.problems.is_full:
                return
            if key not in known:
                like = most_similar(key, known)
                advice = f"did you mean {like!r}?" if like else f"known are {', '.join(known)}"
                shown = key[:_SHOWN] if key.isprintable() else shown_value(key)
                self.note(shown, f"is not known here; {advice}")

    def text(self, key: str, default: str = "", most: int = 1_000) -> str:
        """Return a text without blanks around it."""
        found = self._value(key, str, "text")
        if found is None:
            return default
        text = str(found).strip()
        if len(text) > most:
            self.note(key, f"has {len(text):,} characters; at most {most:,} are taken")
            return default
        if not text.isprintable():
            self.note(key, f"{shown_value(text)} has control characters")
            return default
        return text

    def number(self, key: str, default: float, least: float, most: float) -> float:
        """Return a number between two, which are in."""
        found = self._value(key, (int, float), "a number")
        if found is None:
            return default
        if not least <= found <= most:  # so is no number that is not finite
            shown = shown_value(found) if isinstance(found, int) else f"{found:g}"
            self.note(key, f"is {shown}; it must be from {least:g} to {most:g}")
            return default
        return float(found)

    def whole_number(self, key: str, least: int, most: int) -> int | None:
        """Return a whole number between two, which are in; None where there is none."""
        found = self._value(key, int, "a whole number")
        if found is not None and not least <= found <= most:
            self.note(key, f"is {shown_value(found)}; it must be from {least:,} to {most:,}")
            return None
        return None if found is None else int(found)

    def texts(self, key: str, most: int, most_characters: int = 1_000) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(
            text
            for place, value in self.items(key, most)
            if (text := self._item(place, value, most_characters))
        )

    def _item(self, place: str, value: Any, most: int) -> str:
        entry = Table({place: value}, "", self.problems)
        text = entry.text(place, most=most)
        if isinstance(value, str) and not value.strip():
            self.problems.add(place, "is empty")
        return text

    def table(self, key: str) -> "Table":
        """Return a table, an empty one where there is none."""
        found = self._value(key, dict, "a table")
        return Table(found or {}, self.place(key), self.problems)

    def tables(self, key: str, most: int, text_key: str = "") -> "Iterator[Table]":
        """Yield the tables of a list; a text stands for a table with `text_key` alone."""
        for place, value in self.items(key, most):
            if text_key and isinstance(value, str):
                yield Table({text_key: value}, place, self.problems)
            elif isinstance(value, dict):
                yield Table(value, place, self.problems)
            else:
                wanted = "a text or a table" if text_key else "a table"
                self.problems.add(place, _unlike(value, wanted))

    def items(self, key: str, most: int) -> Iterator[tuple[str, Any]]:
        """Yield the paths and values of a list."""
        found = self._value(key, list, "a list") or []
        if len(found) > most:
            self.note(key, f"has {len(found):,} entries; at most {most:,} are taken")
            return
        for number, value in enumerate(found, 1):
            yield f"{self.place(key)}[{number}]", value

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def is_text(self, key: str) -> bool:
        """Return whether a value is there and a text."""
        return isinstance(self._values.get(key), str)

    def has_entries(self, key: str) -> bool:
        """Return whether a value is there that is not empty."""
        return bool(self._values.get(key))

    def _value(self, key: str, kind: type | tuple[type, ...], name: str) -> Any:
        """Return a value of a kind, None where there is none."""
        found = self._values.get(key)
        if key not in self._values:
            return None
        if not isinstance(found, kind) or isinstance(found, bool):
            self.note(key, _unlike(found, name))
            return None
        return found


def shown_value(value: object) -> str:
    """Return a value as messages show it."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def most_similar(text: str, known: Collection[str]) -> str:
    """Return the most similar of some words, "" where none is similar."""
    # Imported here: files without mistakes need it not.
    from rapidfuzz import fuzz, process

    found = process.extractOne(text[:100].lower(), known, scorer=fuzz.ratio, score_cutoff=_ALIKE)
    return str(found[0]) if found else ""


def _unlike(value: object, wanted: str) -> str:
    kind = next((name for kind, name in _KINDS if isinstance(value, kind)), "nothing")
    return f"is {kind} ({shown_value(value)}); {wanted} is wanted"
