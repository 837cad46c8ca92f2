"""Groups of captures counted in pieces equal those of plain Python."""

from collections import defaultdict

import numpy as np
import pytest

from nwx.facets import groups
from nwx.facets.columns import FacetColumns
from nwx.facets.criteria import Criterion
from nwx.facets.groups import count_groups
from nwx.facets.question import parse_condition

MONTHS = ("2012-12", "2013-01", "2013-02")


def by_chance(seed: int, captures: int, documents: int, sites: int) -> FacetColumns:
    """Return random columns of three months; each document has one size, each URL two documents."""
    chance = np.random.default_rng(seed)
    sizes = chance.integers(1, 1000, documents).astype(np.uint32)
    months = {}
    for month in MONTHS:
        digest = chance.integers(0, documents, captures).astype(np.uint32)
        months[month] = {
            "status": chance.integers(0, 2, captures).astype(np.uint8),
            "type": (digest % 3).astype(np.uint8),
            "site": chance.integers(0, sites, captures).astype(np.uint32),
            "digest": digest,
            "url": digest // 2,
            "size_bytes": sizes[digest],
        }
    labels = {
        "month": list(MONTHS),
        "status": ["ok", "redirection"],
        "type": ["unknown", "html", "pdf"],
        "site": [f"{number}.org" for number in range(sites)],
    }
    return FacetColumns(months, sizes, {}, documents // 2 + 1, labels.__getitem__)


def counted(columns: FacetColumns, by: tuple[Criterion, ...], status: int | None) -> dict:
    """Return captures, unique documents, unique URLs, bytes and unique bytes by the values."""
    found = defaultdict(list)
    for month, one in columns.months.items():
        for row in range(len(one["digest"])):
            if status is None or one["status"][row] == status:
                values = tuple(
                    month if name is Criterion.MONTH else columns.labels(name)[one[name][row]]
                    for name in by
                )
                found[values].append(
                    (int(one["digest"][row]), int(one["url"][row]), int(one["size_bytes"][row]))
                )
    return {
        values: (
            len(rows),
            len({document for document, _, _ in rows}),
            len({url for _, url, _ in rows}),
            sum(size for _, _, size in rows),
            sum({document: size for document, _, size in rows}.values()),
        )
        for values, rows in found.items()
    }


@pytest.mark.parametrize(
    "by",
    [
        (Criterion.TYPE,),
        (Criterion.SITE,),
        (Criterion.TYPE, Criterion.SITE),
        (Criterion.MONTH, Criterion.STATUS),
        (Criterion.STATUS, Criterion.TYPE),
    ],
    ids=str,
)
@pytest.mark.parametrize("status", [None, 1])
@pytest.mark.parametrize(
    ("captures", "documents", "sites"), [(300, 40, 5), (300, 40, 300), (300, 3_000, 5), (40, 9, 2)]
)
def test_each_group_is_counted_as_plain_python_does(
    monkeypatch: pytest.MonkeyPatch,
    by: tuple[Criterion, ...],
    status: int | None,
    captures: int,
    documents: int,
    sites: int,
) -> None:
    monkeypatch.setattr(groups, "PIECE", 64)
    columns = by_chance(captures + documents, captures, documents, sites)
    where = [] if status is None else [parse_condition("status=redirection")]
    selected = list(columns.select(columns.allowed(where)))
    rows = count_groups(columns, selected, by).rows(columns)
    found = {
        row.values: (
            row.features.captures,
            row.features.unique_documents,
            row.features.unique_urls,
            row.features.bytes,
            row.features.unique_bytes,
        )
        for row in rows
    }
    assert found == counted(columns, by, status)


def test_of_very_many_keys_only_those_that_occur_are_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(groups, "_COUNTED_AT_ONCE", 100)
    by = (Criterion.SITE, Criterion.TYPE)
    columns = by_chance(3, 200, 30, 250)
    rows = count_groups(columns, list(columns.select({})), by).rows(columns)
    assert {row.values: row.features.captures for row in rows} == {
        values: features[0] for values, features in counted(columns, by, None).items()
    }
    types = columns.labels("type")
    order = [
        (int(site.split(".")[0]), types.index(kind)) for site, kind in (r.values for r in rows)
    ]
    assert order == sorted(order)
