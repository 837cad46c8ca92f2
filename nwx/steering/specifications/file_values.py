"""Values of a crawl specification file; every invalid value is noted.

An invalid value is then treated as missing, so that all problems are found in one pass.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import date, time
from typing import Any

from rapidfuzz import fuzz, process

from nwx.steering.specifications.problems import FoundProblems

_SHOWN = 60
_ALIKE = 60.0
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "text"),
    (list, "a list"),
    (dict, "a table"),
    ((date, time), "a date or time"),
)
_MISSING = object()


class FileValue:
    """A value at a path of a parsed file, or its absence; `problems` takes all that is wrong."""

    def __init__(self, found: object, path: str, problems: FoundProblems) -> None:
        self.found, self.path, self.problems = found, path, problems

    def __getitem__(self, key: str) -> "FileValue":
        found = self.found.get(key, _MISSING) if isinstance(self.found, dict) else _MISSING
        return FileValue(found, f"{self.path}.{key}" if self.path else key, self.problems)

    @property
    def is_there(self) -> bool:
        """Whether the file has the value."""
        return self.found is not _MISSING

    def note(self, reason: str) -> None:
        """Note that something is wrong with the value."""
        self.problems.add(self.path, reason)

    def is_first(self, key: object, seen: dict[Any, str]) -> bool:
        """Return whether a key was not `seen` before, and note where it was."""
        before = seen.setdefault(key, self.path)
        if before != self.path:
            self.note(f"is the same as {before}")
        return before == self.path

    def text(self, most: int = 1_000) -> str:
        """Return a text without blanks around it."""
        found = self._of_kind(str, "text")
        text = str(found or "").strip()
        if len(text) > most:
            self.note(f"has {len(text):,} characters; at most {most:,} are taken")
            return ""
        if not text.isprintable():
            self.note(f"{shown_value(text)} has control characters")
            return ""
        return text

    def choice(self, known: Sequence[str], default: str) -> str:
        """Return one of some known texts."""
        given = self.text().lower()
        if given and given not in known:
            self.note(f"is {shown_value(given)}; {_advice(given, known, 'choose one of')}")
        return given if given in known else default

    def number(self, default: float, least: float, most: float) -> float:
        """Return a number between two, which are in."""
        found = self._of_kind((int, float), "a number")
        if found is None:
            return default
        if not least <= found <= most:  # so is no number that is not finite
            shown = shown_value(found) if isinstance(found, int) else f"{found:g}"
            self.note(f"is {shown}; it must be from {least:g} to {most:g}")
            return default
        return float(found)

    def whole_number(self, least: int, most: int) -> int | None:
        """Return a whole number from `least` to `most`, inclusive; None if missing or invalid."""
        found = self._of_kind(int, "a whole number")
        if found is not None and not least <= found <= most:
            self.note(f"is {shown_value(found)}; it must be from {least:,} to {most:,}")
            return None
        return None if found is None else int(found)

    def items(self, most: int) -> "Iterator[FileValue]":
        """Yield the values of a list."""
        found = self._of_kind(list, "a list") or []
        if len(found) > most:
            self.note(f"has {len(found):,} entries; at most {most:,} are taken")
            return
        for number, value in enumerate(found, 1):
            yield FileValue(value, f"{self.path}[{number}]", self.problems)

    def table(self, known: Collection[str]) -> "FileValue":
        """Return the value as a table, and note keys that are not known."""
        found = self._of_kind(dict, "a table") or {}
        for key in found:
            if self.problems.is_full:
                break
            if key not in known:
                shown = key[:_SHOWN] if key.isprintable() else shown_value(key)
                self[shown].note(f"is not known here; {_advice(key, known, 'known are')}")
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
                wanted = "a text or a table" if text_key else "a table"
                item.note(_unlike(item.found, wanted))

    def _of_kind(self, kind: type | tuple[type, ...], name: str) -> Any:
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
    except ValueError:  # Python writes no whole number of thousands of digits
        shown = "a number of thousands of digits"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def _advice(text: str, known: Collection[str], otherwise: str) -> str:
    """Return advice with the most similar of some words, or all where none is similar."""
    like = process.extractOne(
        text[:100].lower(), list(known), scorer=fuzz.ratio, score_cutoff=_ALIKE
    )
    return f"did you mean {str(like[0])!r}?" if like else f"{otherwise} {', '.join(known)}"


def _unlike(value: object, wanted: str) -> str:
    kind = next((name for kind, name in _KINDS if isinstance(value, kind)), "nothing")
    return f"is {kind} ({shown_value(value)}); {wanted} is wanted"
