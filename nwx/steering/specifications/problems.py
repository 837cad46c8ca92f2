"""What is wrong with a crawl specification: every place, and the reason."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nwx.errors import UsageError
from nwx.steering.specifications.source_lines import value_lines

MOST_PROBLEMS = 1_000
"""So many are listed; a file with more is something else than a specification."""


@dataclass(frozen=True, slots=True)
class SpecificationProblem:
    """One thing that is wrong.

    `place` is a path in which lists are counted from 1 (`keywords[2].weight`),
    or a column of a text that cannot be parsed, "" where it is all of the
    text. `line` is 0 where it is not known.
    """

    place: str
    reason: str
    line: int = 0

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        return ": ".join(filter(None, (", ".join(filter(None, (line, self.place))), self.reason)))


class SpecificationError(UsageError):
    """A text that is no crawl specification; `problems` has all that is wrong with it."""

    def __init__(self, file: str, problems: Sequence[SpecificationProblem]) -> None:
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))
        self.file = file
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type, tuple[str, Sequence[SpecificationProblem]]]:
        return type(self), (self.file, self.problems)


class FoundProblems:
    """What was found to be wrong so far."""

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
        """Tell whether further ones are only counted."""
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
    """Return the line of a path, or of what it is in; 0 where neither is known."""
    while place and place not in lines:
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    return lines.get(place, 0)
