"""The combinations of a build, from the columns of its months."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from nwx.engine.arrays import Array
from nwx.engine.cube import FEATURES
from nwx.facets.criteria import CUBE, STATUSES, Criterion
from nwx.facets.drafting import Draft
from nwx.facets.groupings import (
    Captures,
    Grouping,
    all_groupings,
    heavy_combinations,
    stored,
)
from nwx.facets.labels import Labels
from nwx.facets.payloads import Columns

Say = Callable[[str, int, int], None]
Pieces = dict[str, list[dict[str, Array]]]


def store_combinations(
    draft: Draft,
    months: Mapping[str, Columns],
    labels: Labels,
    sizes: Mapping[str, Array],
    least: int,
    say: Say,
) -> int:
    """Write the combinations of all groupings and return how many there are."""
    found: Pieces = {name: [] for name in all_groupings()}
    done, total = 0, len(STATUSES) * len(found)
    with ThreadPoolExecutor(1) as pool:
        for status in range(len(STATUSES)):
            captures = _captures(status, months, labels, sizes)
            if len(captures.size_bytes) >= least:
                for grouping in heavy_combinations(captures, least, pool):
                    _keep(found, grouping, status)
                    done += 1
                    say("combining", done, total)
            done = (status + 1) * len(found)
    groupings = {name: _together(pieces) for name, pieces in found.items() if pieces}
    draft.combinations(groupings)
    return sum(len(columns["status"]) for columns in groupings.values())


def _keep(found: Pieces, grouping: Grouping, status: int) -> None:
    if len(grouping.features["captures"]):
        found[grouping.name].append(stored(grouping, status))


def _together(pieces: list[dict[str, Array]]) -> dict[str, Array]:
    """Return the combinations of all statuses, in the order of their codes."""
    names = ["status", *(name for name in CUBE if name in pieces[0]), *FEATURES]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in names}


def _captures(
    status: int, months: Mapping[str, Columns], labels: Labels, sizes: Mapping[str, Array]
) -> Captures:
    """Return the captures of a status, of all months together."""
    rows = {name: np.flatnonzero(one["status"] == status) for name, one in months.items()}
    codes: dict[Criterion, Array] = {
        name: _gathered(months, rows, name.value) for name in CUBE if name != "month"
    }
    numbers = labels.codes(Criterion.MONTH, months)
    lengths = [len(found) for found in rows.values()]
    codes[Criterion.MONTH] = np.repeat(np.array(numbers, dtype=np.uint16), lengths)
    return Captures(
        codes,
        _gathered(months, rows, "size_bytes"),
        _gathered(months, rows, "digest"),
        _gathered(months, rows, "url"),
        sizes["sizes"],
        sizes["varied"] if sizes["varied"].any() else None,
    )


def _gathered(months: Mapping[str, Columns], rows: Mapping[str, Array], name: str) -> Array:
    pieces = [columns[name][rows[month]] for month, columns in months.items()]
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)
