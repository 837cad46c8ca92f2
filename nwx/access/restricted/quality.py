"""How captured pages play, for the pages that a viewer may see."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from nwx.access.restricted.hidden_urls import HiddenUrls, key_of
from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.engine.quality.entries import kinds_of, month_of
from nwx.engine.quality.quality_index import (
    EVERY_SCORE,
    HOSTS_COUNTED,
    PlaybackScore,
    QualityFilter,
    QualityGroup,
    QualityIndex,
    QualityOrder,
    QualityTotals,
)
from nwx.errors import ErrorText, WithheldError
from nwx.keys import capture_id
from nwx.model import Capture

_AT_ONCE = 200
_MOST_NEAR = 20
_MONITOR = "monitor:"


class RestrictedQualityIndex(QualityIndex):
    """What a viewer may see of the index quality; scores are written to the whole one alone.

    Faults and missing resources of a page are without hidden URLs. Totals
    are counted again from the visible scores.
    """

    def __init__(self, engine: Engine, decisions: Decisions, urls: HiddenUrls) -> None:
        self._engine, self._decisions, self._urls = engine, decisions, urls
        self._index = engine.quality_index()
        self._counted: dict[QualityFilter, tuple[tuple[QualityTotals, str], QualityTotals]] = {}

    def put(self, scores: Sequence[PlaybackScore]) -> None:
        """Raise WithheldError: who sees a part of an archive does not judge all of it."""
        raise _reading_only()

    def remove(self, ids: Collection[str]) -> int:
        """Raise WithheldError: who sees a part of an archive does not judge all of it."""
        raise _reading_only()

    def put_state(self, name: str, state: bytes) -> None:
        """Raise WithheldError: who sees a part of an archive does not judge all of it."""
        raise _reading_only()

    def score(self, id: str) -> PlaybackScore | None:
        """Return the score of a visible capture."""
        return self.scores_of([id]).get(id)

    def scores_of(self, ids: Collection[str]) -> dict[str, PlaybackScore]:
        """Return the scores of those of these captures that are visible and have one."""
        return {score.id: score for score in self.shown(self._index.scores_of(ids).values())}

    def scores(
        self,
        wanted: QualityFilter,
        limit: int,
        offset: int = 0,
        order: str = QualityOrder.WORST,
    ) -> list[PlaybackScore]:
        """Return visible scores, by default the worst first."""
        return list(islice(self.scan(wanted, order), offset, offset + limit))

    def scan(
        self, wanted: QualityFilter = EVERY_SCORE, order: str = QualityOrder.WORST
    ) -> Iterator[PlaybackScore]:
        """Stream all visible scores that match, by default the worst first."""
        found = self.shown(self._index.scan(wanted, order))
        # A kind of fault that only a hidden resource had is none of the page any more.
        return (one for one in found if not wanted.kind or wanted.kind in kinds_of(one))

    def checked(self, ids: Collection[str], rules: str) -> set[str]:
        """Return those of these captures that have a score by a version of the rules."""
        return self._index.checked(ids, rules)

    def totals(self, wanted: QualityFilter = EVERY_SCORE) -> QualityTotals:
        """Count the visible pages that match."""
        stamp = self._index.totals(wanted), self._engine.capture_mark()
        known = self._counted.get(wanted)
        if known is None or known[0] != stamp:
            known = self._counted[wanted] = stamp, _totals(self.scan(wanted))
        return known[1]

    def state(self, name: str) -> bytes | None:
        """Raise WithheldError for a monitor: its sums are of all captures of a crawl."""
        found = self._index.state(name)
        if found is not None and name.startswith(_MONITOR):
            raise WithheldError(
                ErrorText(
                    "the sums of a monitor count captures that access rules hide; log in as a "
                    "curator, or use `nwx --unrestricted`, to see them"
                )
            )
        return found

    def states(self) -> list[str]:
        """Return the names of the states that are shown: not those of monitors."""
        return [name for name in self._index.states() if not name.startswith(_MONITOR)]

    def shown(self, scores: Iterable[PlaybackScore]) -> Iterator[PlaybackScore]:
        """Stream the scores of visible captures, without hidden resources."""
        waiting = iter(scores)
        while some := list(islice(waiting, _AT_ONCE)):
            hidden = self._hidden(some)
            visible = [one for one in some if one.id not in hidden]
            yield from self._without_hidden_resources(visible)

    def _hidden(self, scores: Sequence[PlaybackScore]) -> set[str]:
        """Return the ids of those of captures that are hidden."""
        touched = [one for one in scores if self._decisions.touches(one.urlkey)]
        if not touched:
            return set()
        asked = [KeysAtTime((one.urlkey,), one.timestamp) for one in touched]
        found = self._engine.captures_near(asked, _MOST_NEAR)
        return {
            score.id for score, near in zip(touched, found, strict=True) if self._hides(score, near)
        }

    def _hides(self, score: PlaybackScore, near: Sequence[Capture]) -> bool:
        for captures in (near, self._engine.captures(score.urlkey)):
            for one in captures:
                if capture_id(one.collection, one.source_file, one.source_file_offset) == score.id:
                    return self._decisions.hides(one)
        file = score.id.removeprefix(f"{score.collection}/").rpartition("@")[0]
        return self._decisions.hides_values(
            score.urlkey, score.url, "", score.collection, file, score.timestamp
        )

    def _without_hidden_resources(self, scores: Sequence[PlaybackScore]) -> Iterator[PlaybackScore]:
        named = {
            fault.resource: key_of(fault.resource)
            for one in scores
            for fault in one.faults
            if fault.resource
        }
        missing = {key for one in scores for key in one.resources}
        hidden = self._urls.keys_among(missing.union(filter(None, named.values())))
        for one in scores:
            faults = tuple(each for each in one.faults if named.get(each.resource) not in hidden)
            resources = tuple(key for key in one.resources if key not in hidden)
            left_out = len(one.faults) - len(faults)
            if left_out or len(resources) < len(one.resources):
                total = one.faults_total - left_out
                yield replace(one, faults=faults, resources=resources, faults_total=total)
            else:
                yield one


def _totals(scores: Iterable[PlaybackScore]) -> QualityTotals:
    kinds, months, hosts, collections = (defaultdict[str, list[float]](list) for _ in range(4))
    pages, total = 0, 0.0
    for one in scores:
        pages += 1
        total += one.score
        months[month_of(one)].append(one.score)
        hosts[one.host].append(one.score)
        collections[one.collection].append(one.score)
        for kind in kinds_of(one):
            kinds[kind].append(one.score)
    by_month = sorted(_groups(months), key=lambda group: group.value)
    return QualityTotals(
        pages,
        total / pages if pages else None,
        tuple(_most_frequent(kinds)),
        tuple(by_month),
        tuple(_most_frequent(hosts)[:HOSTS_COUNTED]),
        tuple(_most_frequent(collections)),
    )


def _groups(found: dict[str, list[float]]) -> Iterator[QualityGroup]:
    for value, scores in found.items():
        yield QualityGroup(value, len(scores), sum(scores) / len(scores))


def _most_frequent(found: dict[str, list[float]]) -> list[QualityGroup]:
    return sorted(_groups(found), key=lambda group: (-group.pages, group.value))


def _reading_only() -> WithheldError:
    return WithheldError(ErrorText("scores are written by those who see the whole archive"))
