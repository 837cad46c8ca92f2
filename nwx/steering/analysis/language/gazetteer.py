"""Places by a gazetteer that a user gives."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from nwx.errors import UsageError
from nwx.steering.analysis.language.language_model import Name, NameKind
from nwx.steering.analysis.language.letter_matcher import LetterMatcher

LARGEST_GAZETTEER = 1_000_000
"""Of a gazetteer; what follows is not read."""

_SHORTEST = 3  # characters; shorter names are words of other languages
_COLUMNS = 4  # as few as a table of GeoNames has at least


class Gazetteer:
    """Names of places, found where they begin with a capital or in a script without capitals."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read one place a line, or a table as GeoNames offers it; `#` begins a comment."""
        self._names = list(_places(lines))
        self._matcher = LetterMatcher((name, place) for place, name in enumerate(self._names))

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._names)

    def places_in(self, text: str) -> list[Name]:
        """Return the places in a text, named as in the gazetteer."""
        return [
            Name(self._names[number], NameKind.PLACE, first)
            for number, first, _ in self._matcher.matches(text)
            if not text[first].islower()
        ]


def read_gazetteer(path: Path) -> Gazetteer:
    """Return the gazetteer in a file; raises UsageError where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return Gazetteer(lines)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _places(lines: Iterable[str]) -> Iterator[str]:
    count = 0
    for line in lines:
        columns = line.rstrip("\r\n").split("\t")
        is_table = len(columns) >= _COLUMNS and columns[0].isdecimal()
        name = columns[1] if is_table else columns[0].partition("#")[0]
        name = name.strip()
        if len(name) < _SHORTEST and name.isascii():
            continue
        yield name
        count += 1
        if count >= LARGEST_GAZETTEER:
            return
