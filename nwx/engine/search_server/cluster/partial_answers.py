"""Answers from only some of the shards: refused, unless a search may be partial.

Each answer with `_shards` is checked. A shard without an active copy counts as failed in a
search, but not in `_refresh`, `_flush`, `_forcemerge` and `_stats`, where it is only missing
among the successful ones, like copies not yet allocated (seen with Elasticsearch 9.2).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from nwx.errors import ErrorText, PartialAnswerError
from nwx.model import SearchResult
from nwx.query.question import Question

_Answer = Mapping[str, Any]


class PartialAnswers:
    """The shards missing from the searches of one question."""

    def __init__(self) -> None:
        self.missing = 0
        self.shards = 0

    def add(self, missing: int, shards: int) -> None:
        """Record the shards of a search that did not answer; keeps the worst search."""
        if (missing, shards) > (self.missing, self.shards) and missing:
            self.missing, self.shards = missing, shards

    def result(self, found: SearchResult) -> SearchResult:
        """Return a result with its missing shards; if any, its counts are lower bounds."""
        if not self.missing:
            return found
        total, documents = (replace(one, relation="gte") for one in (found.total, found.documents))
        return replace(
            found,
            total=total,
            documents=documents,
            missing_shards=self.missing,
            shards=self.shards,
        )


_allowed: ContextVar[PartialAnswers | None] = ContextVar("partial", default=None)


@contextmanager
def partial_allowed() -> Iterator[PartialAnswers]:
    """Allow partial answers within the context; yield the record of missing shards.

    Applies only to searches that may be partial.
    """
    token = _allowed.set(PartialAnswers())
    try:
        yield partial_answers() or PartialAnswers()
    finally:
        _allowed.reset(token)


def searched(
    search: Callable[[Question], SearchResult], question: Question, *, partial: bool
) -> SearchResult:
    """Return the result of a question; a partial one reports the missing shards."""
    if not partial:
        return search(question)
    with partial_allowed() as lacking:
        found = search(question)
    return lacking.result(found)


def partial_answers() -> PartialAnswers | None:
    """Return the record of missing shards, None if answers must be complete."""
    return _allowed.get()


def missing_shards(answer: _Answer) -> int:
    """Return the number of shards of a search that did not answer, or not in time."""
    shards = answer.get("_shards")
    if not isinstance(shards, dict):
        return 0
    failed = int(shards.get("failed", 0))
    if "hits" in answer or "count" in answer:
        failed = max(failed, int(shards["total"]) - int(shards["successful"]))
        if answer.get("timed_out"):
            failed = max(failed, 1)
    return failed


def check_whole(place: str, answer: _Answer) -> None:
    """Raise PartialAnswerError if shards did not answer, in any part of an answer."""
    for one in (answer, *answer.get("responses", ())):
        if missing := missing_shards(one):
            raise partial_answer(place, missing, int(one["_shards"]["total"]), _reason(one))


def partial_answer(
    place: str, missing: int, shards: int, reason: str | ErrorText = ""
) -> PartialAnswerError:
    """Return the error for an answer with missing shards."""
    lacking = ErrorText(
        "%(missing)s of %(shards)s shards of %(place)s did not answer",
        missing=missing,
        shards=shards,
        place=place,
    )
    if reason:
        lacking = ErrorText("%(lacking)s (%(reason)s)", lacking=lacking, reason=reason)
    return PartialAnswerError.translated(
        "%(lacking)s, and incomplete answers are not shown; see `nwx stats`, or search "
        "with --partial",
        lacking=lacking,
    )


def _reason(answer: _Answer) -> str | ErrorText:
    for failure in answer["_shards"].get("failures", ()):
        reason = failure.get("reason") or {}
        return f"shard {failure.get('shard')} of {failure.get('index')}: {reason.get('type')}"
    return ErrorText("it took too long") if answer.get("timed_out") else ""
