"""What is wrong with a crawl specification: every place, and the reason."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nwx.errors import UsageError

MOST_PROBLEMS = 1_000
"""So many are listed; a file with more is something else than a specification."""


@dataclass(frozen=True, slots=True)
class SpecificationProblem:
    """One thing that is wrong.

    `place` is a line (`line 3, column 7`), or a path in which lists are
    counted from 1 (`keywords[2].weight`), "" where it is all of the text.
    """

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}" if self.place else self.reason


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

    def check(self, file: str) -> None:
        """Raise SpecificationError where something is wrong."""
        if self._further:
            more = SpecificationProblem("", f"… and {self._further:,} more problems")
            raise SpecificationError(file, [*self._found, more])
        if self._found:
            raise SpecificationError(file, self._found)
