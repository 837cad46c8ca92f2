"""The dates that rules about whole collections, or the whole archive, hide."""

from collections.abc import Iterable, Iterator, Sequence

from nwx.engine.access.decisions import Decisions
from nwx.engine.access.matches import TimedRule
from nwx.engine.access.rules import Scope
from nwx.query.hidden import HiddenSpan

_FIRST, _LAST = "0" * 14, "9" * 14


def is_broad(scope: Scope) -> bool:
    """Tell whether a scope is known by collection and date alone."""
    return not (scope.digest or scope.prefix or scope.source_file)


def hidden_spans(decisions: Decisions, collections: Iterable[str]) -> tuple[HiddenSpan, ...]:
    """Return the dates that are hidden unless a rule about less says otherwise.

    Where a rule is about a collection, each of `collections`, and each that
    rules name, has spans of its own.
    """
    broad = [one for one in decisions.timed if is_broad(one.rule.scope)]
    if not any(one.is_restricting for one in broad):
        return ()
    named = {one.rule.scope.collection for one in broad} - {""}
    names = sorted(named.union(collections)) if named else [""]
    return tuple(span for name in names for span in _spans(decisions, broad, name))


def hides_unnamed(decisions: Decisions) -> bool:
    """Tell whether spans have to be told for each collection, those that no rule names included."""
    broad = [one for one in decisions.timed if is_broad(one.rule.scope)]
    return any(one.rule.scope.collection for one in broad) and any(
        one.is_restricting and not one.rule.scope.collection for one in broad
    )


def is_all_hidden(decisions: Decisions, collection: str, source_file: str = "") -> bool:
    """Tell whether all of a collection, or of an archive file of it, is hidden.

    What rules about URLs and digests show of it is not looked at.
    """
    if decisions.hides_nothing:
        return False
    wide = [one for one in decisions.timed if not (one.rule.scope.digest or one.rule.scope.prefix)]
    found = list(_spans(decisions, wide, collection, source_file))
    return [span[:2] for span in found] == [(_FIRST, _LAST)]


def _spans(
    decisions: Decisions, rules: Sequence[TimedRule], collection: str, source_file: str = ""
) -> Iterator[HiddenSpan]:
    """Yield the hidden spans of a collection: what rules say changes at their ends alone."""
    starts = {_FIRST, *(one.since for one in rules if one.since)}
    starts |= {f"{int(one.to) + 1:014}" for one in rules if one.to < _LAST}
    begun = ""
    for start in sorted(starts):
        hidden = decisions.hides_values("", "", "", collection, source_file, start)
        if hidden and not begun:
            begun = start
        elif begun and not hidden:
            yield HiddenSpan(begun, f"{int(start) - 1:014}", collection)
            begun = ""
    if begun:
        yield HiddenSpan(begun, _LAST, collection)


def in_spans(spans: Sequence[HiddenSpan], timestamp: str, collection: str) -> bool:
    """Tell whether a date lies in one of the spans."""
    return any(span.holds(timestamp, collection) for span in spans)
