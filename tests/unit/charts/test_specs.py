from nwx.charts import fields
from nwx.charts.fields import Field, FieldKind
from nwx.charts.pictures import draw_picture
from nwx.charts.specs import curves, sized_spec, spec_with_rows, thinned

PAGES = Field("pages", "Pages", FieldKind.COUNT)
SHARE = Field("share", "Share", FieldKind.RATIO)
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
