"""How captured pages play: totals, and the scores in an order."""

from functools import cached_property

from nwx.answers.options import first_of
from nwx.answers.rows import Rows
from nwx.engine.indices.quality_index import (
    PlaybackScore,
    QualityFilter,
    QualityIndex,
    QualityOrder,
    QualityTotals,
)


class PlaybackScores(Rows[PlaybackScore]):
    """The scores of the pages that match, worst first or those checked last first."""

    def __init__(
        self, index: QualityIndex, wanted: QualityFilter, order: QualityOrder, limit: int | None
    ) -> None:
        super().__init__(PlaybackScore, lambda: first_of(index.scan(wanted, order), limit))
        self._index, self._wanted, self._order = index, wanted, order

    @cached_property
    def totals(self) -> QualityTotals:
        """The totals of all pages that match, whatever the limit."""
        return self._index.totals(self._wanted)

    def page(self, offset: int, limit: int) -> list[PlaybackScore]:
        """Return a part of the list, without reading what comes before."""
        if not limit or offset >= self.totals.pages:
            return []
        return self._index.scores(self._wanted, limit, offset, self._order)
