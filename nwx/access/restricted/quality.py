"""How captured pages play, for the pages that a viewer may see."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nwx.access.restricted.entry_store import VisibleEntries
from nwx.access.restricted.hidden_urls import key_of
from nwx.engine.capture_index import KeysAtTime
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.quality_index import PlaybackScore, quality_entry, quality_from_entry
from nwx.errors import NwxError, WithheldError
from nwx.keys import capture_id
from nwx.model import Capture

_AT_ONCE = 200
_MOST_NEAR = 20
_MONITOR = "monitor:"


class VisibleScores(VisibleEntries):
    """The scores of visible captures, without faults and missing resources of hidden URLs."""

    def refusal(self) -> NwxError:
        return WithheldError.translated("scores are written by those who see the whole archive")

    def withheld(self, state: str) -> NwxError | None:
        if not state.startswith(_MONITOR):
            return None
        return WithheldError.translated(
            "the sums of a monitor count captures that access rules hide; log in as a "
            "curator, or use `nwx --unrestricted`, to see them"
        )

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        for start in range(0, len(entries), _AT_ONCE):
            scores = list(map(quality_from_entry, entries[start : start + _AT_ONCE]))
            hidden = self._hidden(scores)
            visible = [one for one in scores if one.id not in hidden]
            yield from map(quality_entry, self._without_hidden_resources(visible))

    def _hidden(self, scores: Sequence[PlaybackScore]) -> set[str]:
        """Return the ids of hidden captures."""
        touched = [one for one in scores if self._restricted.decisions.touches(one.urlkey)]
        if not touched:
            return set()
        asked = [KeysAtTime((one.urlkey,), one.timestamp) for one in touched]
        found = self._restricted.whole.captures_near(asked, _MOST_NEAR)
        return {
            score.id for score, near in zip(touched, found, strict=True) if self._hides(score, near)
        }

    def _hides(self, score: PlaybackScore, near: Sequence[Capture]) -> bool:
        for captures in (near, self._restricted.whole.captures(score.urlkey)):
            for one in captures:
                if capture_id(one.collection, one.source_file, one.source_file_offset) == score.id:
                    return self._restricted.decisions.hides(one)
        file = score.id.removeprefix(f"{score.collection}/").rpartition("@")[0]
        return self._restricted.decisions.hides_values(
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
        hidden = self._restricted.urls.keys_among(missing.union(filter(None, named.values())))
        for one in scores:
            faults = tuple(each for each in one.faults if named.get(each.resource) not in hidden)
            resources = tuple(key for key in one.resources if key not in hidden)
            left_out = len(one.faults) - len(faults)
            if left_out or len(resources) < len(one.resources):
                total = one.faults_total - left_out
                yield replace(one, faults=faults, resources=resources, faults_total=total)
            else:
                yield one
