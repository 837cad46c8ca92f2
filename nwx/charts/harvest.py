"""The harvest rates of crawls over the pages that they fetched."""

from collections.abc import Mapping, Sequence

from nwx.charts.curves import curves, thinned
from nwx.charts.fields import Field, FieldKind, Spec
from nwx.charts.specs import sized_spec, spec_with_rows

PAGES = Field("pages", "Pages fetched", FieldKind.COUNT)
HARVEST_RATE = Field("harvest_rate", "Harvest rate", FieldKind.RATIO)
RELEVANT = Field("relevant", "Relevant pages", FieldKind.COUNT)


def harvest_chart(
    harvests: Mapping[str, Sequence[tuple[int, int]]], width: int | str, value: Field = HARVEST_RATE
) -> Spec:
    """Return the harvest rates of crawls, or with RELEVANT the relevant pages that they found.

    `harvests` has the points of each crawl by its name: the pages that were
    fetched up to there, and how many of these are relevant.
    """
    crawl = Field("crawl", "Crawl", FieldKind.CATEGORY, tuple(harvests))
    rows = [
        {
            crawl.name: name,
            PAGES.name: pages,
            RELEVANT.name: relevant,
            HARVEST_RATE.name: relevant / pages,
        }
        for name, points in harvests.items()
        for _, (pages, relevant) in thinned(points)
        if pages
    ]
    return sized_spec(spec_with_rows(curves(PAGES, value, crawl), rows), width, 0)
