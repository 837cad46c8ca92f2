import re
from collections import defaultdict
from itertools import pairwise, product

import pytest

from nwx.charts import fields, specs
from nwx.charts.fields import Field, FieldKind
from nwx.charts.pictures import draw_picture
from nwx.charts.specs import curves, sized_spec, spec_with_rows, thinned

YEAR = Field("year", "Year", FieldKind.YEAR)
PAGES = Field("pages", "Pages", FieldKind.COUNT)
SHARE = Field("share", "Share", FieldKind.SHARE)
NAMES = Field("crawl", "Crawl", FieldKind.CATEGORY, ("one", "two"))


def test_curves_are_drawn_with_their_names_and_in_percent() -> None:
    rows = [
        {"pages": pages, "share": pages / 100, "crawl": name}
        for pages in range(1, 90)
        for name in NAMES.order
    ]
    spec = sized_spec(spec_with_rows(curves(PAGES, SHARE, NAMES), rows), 600, 0)
    picture = draw_picture(spec, fields.config("light"), "svg").decode()
    assert all(word in picture for word in ("one", "two", "Share", "Pages", "80%"))


def test_of_many_points_some_are_kept_and_always_the_last() -> None:
    kept = thinned(range(1001), 100)
    assert len(kept) <= 102
    assert (kept[0], kept[-1]) == ((0, 0), (1000, 1000))
    assert thinned([7, 8]) == [(0, 7), (1, 8)]
    assert thinned([]) == []


def _labels(picture: str) -> list[str]:
    return re.findall(r">(\d{4})</text>", picture)


@pytest.mark.parametrize("form", ["bars", "lines", "stacked", "heat_map"])
def test_periods_without_values_keep_their_places(form: str) -> None:
    """They are gaps: a line does not drop to zero there."""
    rows = [
        {"year": str(year), "share": None if year % 2 else year % 9 / 10, "crawl": "one"}
        for year in range(2000, 2009)
    ]
    value = Field("share", "Share", FieldKind.SHARE)
    fields_of = {"bars": (YEAR, value), "lines": (YEAR, value), "stacked": (YEAR, NAMES, value)}
    chart = getattr(specs, form)(*fields_of.get(form, (YEAR, NAMES, value)))
    picture = draw_picture(
        sized_spec(spec_with_rows(chart, rows), 600, 0), fields.config("light"), "svg"
    ).decode()
    assert _labels(picture) == [str(year) for year in range(2000, 2009)]
    if form == "lines":
        assert 'stroke-dasharray="2,4"' in picture


def test_bars_may_be_wider_than_their_periods() -> None:
    rows = [{"year": str(year), "pages": 5} for year in (2000, 2024)]
    chart = specs.bars(YEAR, PAGES, bands=5)
    assert chart["mark"]["width"] == {"band": 5}
    assert "width" not in specs.bars(NAMES, PAGES, bands=5)["mark"]
    assert draw_picture(
        sized_spec(spec_with_rows(chart, rows), 600, 0), fields.config("light"), "svg"
    )


_PLACED = re.compile(r"<text[^>]*translate\(([\d.]+),([\d.]+)\)([^>]*)>([^<]+)</text>")
_LETTER_WIDTH = 6.5


@pytest.mark.parametrize("years", [1, 3, 12, 30])
@pytest.mark.parametrize("kind", [FieldKind.YEAR, FieldKind.MONTH])
def test_labels_of_an_axis_never_overlap(kind: FieldKind, years: int) -> None:
    along = Field("when", "When", kind)
    months = ("",) if kind is FieldKind.YEAR else tuple(f"-{month:02}" for month in range(1, 13))
    rows = [
        {"when": f"{1996 + year}{month}", "pages": year + 1, "crawl": "one"}
        for year in range(years)
        for month in months
    ]
    charts = specs.bars(along, PAGES), specs.lines(along, PAGES), specs.stacked(along, NAMES, PAGES)
    for width, chart in product((320, 960), charts):
        spec = sized_spec(spec_with_rows(chart, rows), width, 0)
        picture = draw_picture(spec, fields.config("light"), "svg").decode()
        placed = defaultdict[str, list[tuple[float, float]]](list)
        for x, y, look, text in _PLACED.findall(picture):
            if 'opacity="0"' not in look and text[:2] in ("19", "20") and "rotate" not in look:
                placed[y].append((float(x), len(text) * _LETTER_WIDTH / 2))
        assert placed
        for row in placed.values():
            for (x, half), (then, other) in pairwise(sorted(row)):
                assert x + half <= then - other, (width, chart.get("mark", ""))
