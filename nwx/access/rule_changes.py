"""The captures for which another set of rules may say something else."""

from collections.abc import Iterator, Sequence

from nwx.engine.access.decisions import Decisions
from nwx.engine.access.matches import TimedRule, reached_keys
from nwx.engine.base import Engine
from nwx.keys import capture_id
from nwx.model import Capture
from nwx.values.method_query import method_prefix

MOST_LOOK_UPS = 500
"""More changes than these are found sooner by looking at all captures."""

_Span = tuple[str, str | None]


def changed_spans(before: Decisions, after: Decisions) -> list[_Span] | None:
    """Return spans of urlkeys with all captures of pages that rules say something else of now.

    None where rules that differ are not about URLs, or are many, and where
    other dates are known now (`AccessIndex.renew`).
    """
    if before.mark != after.mark:
        return None
    changed = {_sign(one): one for one in before.timed}
    for one in after.timed:
        if changed.pop(_sign(one), None) is None:
            changed[_sign(one)] = one
    scopes = [one.rule.scope for one in changed.values()]
    if len(scopes) > MOST_LOOK_UPS or not all(scope.prefix for scope in scopes):
        return None
    spans: list[_Span] = []
    for scope in scopes:
        keys, starts = reached_keys(scope)
        spans += [(key, None) for key in keys]
        # Answers to requests with a body have the method in their urlkey.
        spans += [_beginning(start) for start in (*map(method_prefix, keys), *starts)]
    return spans


def captures_in(engine: Engine, spans: Sequence[_Span]) -> Iterator[Capture]:
    """Stream the captures of spans, each once."""
    seen: set[str] = set()
    for start, end in spans:
        for capture in engine.captures(start, end):
            id = capture_id(capture.collection, capture.source_file, capture.source_file_offset)
            if id not in seen:
                seen.add(id)
                yield capture


def _sign(timed: TimedRule) -> tuple[str, str, str, str]:
    return timed.rule.id, timed.action, timed.since, timed.to


def _beginning(start: str) -> _Span:
    return start, start[:-1] + chr(ord(start[-1]) + 1)
