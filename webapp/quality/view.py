"""What an address asks of playback scores."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from nwx.engine.indices.quality_index import (
    PlaybackScore,
    QualityFilter,
    QualityIndex,
    QualityOrder,
    QualityTotals,
)
from nwx.errors import UsageError
from nwx.quality.scores import of_site, read_month
from nwx.values.fault_kinds import FaultKind
from webapp.site import parameters
from webapp.site.parameters import Arguments

_FIELDS = ("site", "host", "month", "collection", "kind")


@dataclass(frozen=True, slots=True)
class QualityView:
    """The parameters of an address, and the filter and the order that they are."""

    given: dict[str, str]
    wanted: QualityFilter
    order: QualityOrder

    def address(self, base: str, **more: object) -> str:
        """Return an address with the same parameters and more; one that is "" is left out."""
        pairs: dict[str, object] = {**self.given}
        if self.order is not QualityOrder.WORST:
            pairs["order"] = self.order.value
        pairs = {name: value for name, value in (pairs | more).items() if value}
        return f"{base}?{urlencode(pairs)}" if pairs else base


def read_quality_view(arguments: Arguments) -> QualityView:
    """Return what an address asks; raises UsageError for what makes no sense."""
    given = {name: parameters.text(arguments, name, 300) for name in _FIELDS}
    kind = given["kind"]
    if kind and kind not in set(FaultKind):
        raise UsageError(parameters.not_a_choice("kind", kind, FaultKind))
    month = read_month(given["month"])
    wanted = of_site(given["site"], given["host"])
    wanted = replace(wanted, month=month, collection=given["collection"], kind=kind)
    order = parameters.choice(arguments, "order", QualityOrder.WORST)
    return QualityView({name: value for name, value in given.items() if value}, wanted, order)


def totals_and_scores(
    index: QualityIndex, view: QualityView, limit: int, offset: int
) -> tuple[QualityTotals, list[PlaybackScore]]:
    """Return the totals of what an address asks for, and a part of the list of scores."""
    totals = index.totals(view.wanted)
    if not limit or offset >= totals.pages:
        return totals, []  # engines would go through all that come before
    return totals, index.scores(view.wanted, limit, offset, view.order)
