"""The combinations of a build, from the columns of its months."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np

from nwx.engine.arrays import Array
from nwx.facets.adding import Before
from nwx.facets.criteria import CUBE, STATUSES, Criterion
from nwx.facets.groupings import Captures, Grouping, all_groupings, heavy_combinations, stored
from nwx.facets.labels import Labels
from nwx.facets.payloads import PayloadColumns
from nwx.facets.question import STORED_FEATURES
from nwx.facets.stored_build import Build, BuildDraft

Say = Callable[[str, int, int], None]
Pieces = dict[str, list[dict[str, Array]]]


def store_combinations(
    draft: BuildDraft,
    months: Mapping[str, PayloadColumns],
    labels: Labels,
    sizes: tuple[Array, Array],
    least: int,
    say: Say,
    base: Build | None = None,
) -> int:
    """Write the combinations of all groupings and return how many there are.

    `base` is the build before, where its months are the same in this one,
    and so is `least`: then only what is new is counted.
    """
    known = base.groupings() if base else {}
    new = {name: columns for name, columns in months.items() if name in draft.made}
    found: Pieces = {name: [] for name in all_groupings()}
    done, total = 0, len(STATUSES) * len(found)
    with ThreadPoolExecutor(1) as pool:
        for status in range(len(STATUSES)):
            captures = _captures(status, months, labels, sizes)
            if len(captures.size_bytes) >= least:
                own = _of_status(known, status)
                if base is None:
                    combinations = heavy_combinations(captures, least, pool)
                else:
                    before = _before(captures, own, status, months, new)
                    _keep_months(found, own)
                    of_new = _captures(status, new, labels, sizes)
                    combinations = _with_new(captures, before, of_new, least, pool)
                for grouping in combinations:
                    _keep(found, grouping, status)
                    done += 1
                    say("combining", done, total)
            done = (status + 1) * len(found)
    groupings = {name: _together(pieces) for name, pieces in found.items() if pieces}
    draft.write_combinations(groupings)
    return sum(len(columns["status"]) for columns in groupings.values())


def _with_new(
    captures: Captures, before: Before, of_new: Captures, least: int, pool: Executor
) -> Iterator[Grouping]:
    """Give the combinations of new months, and those of all months together."""
    others = [name for name in CUBE if name is not Criterion.MONTH]
    yield from heavy_combinations(captures, least, pool, others, before)
    for grouping in heavy_combinations(of_new, least, pool):
        if Criterion.MONTH in grouping.criteria:
            yield grouping


def _of_status(
    groupings: Mapping[str, Mapping[str, Array]], status: int
) -> dict[str, dict[str, Array]]:
    """Return the combinations of a status."""
    found = {}
    for name, columns in groupings.items():
        rows = np.flatnonzero(columns["status"] == status)
        found[name] = {key: column[rows] for key, column in columns.items()}
    return found


def _keep_months(found: Pieces, known: Mapping[str, dict[str, Array]]) -> None:
    """Keep the combinations of months of before: nothing came to them."""
    for name, columns in known.items():
        if Criterion.MONTH in columns and len(columns["captures"]):
            found[name].append(columns)


def _before(
    captures: Captures,
    known: Mapping[str, Mapping[str, Array]],
    status: int,
    months: Mapping[str, PayloadColumns],
    new: Mapping[str, PayloadColumns],
) -> Before:
    lengths = [int(np.count_nonzero(one["status"] == status)) for one in months.values()]
    is_new = np.repeat([name in new for name in months], lengths)
    late = []
    for numbers in (captures.documents, captures.urls):
        marks = np.zeros(int(numbers.max(initial=0)) + 1, dtype=bool)
        marks[numbers[is_new]] = True
        late.append(marks[numbers])
    return Before(known, is_new, late[0], late[1])


def _keep(found: Pieces, grouping: Grouping, status: int) -> None:
    if len(grouping.features["captures"]):
        found[grouping.name].append(stored(grouping, status))


def _together(pieces: list[dict[str, Array]]) -> dict[str, Array]:
    """Return the combinations of all statuses, in the order of their codes."""
    names = ["status", *(name for name in CUBE if name in pieces[0]), *STORED_FEATURES]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in names}


def _captures(
    status: int, months: Mapping[str, PayloadColumns], labels: Labels, sizes: tuple[Array, Array]
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
        _gathered(months, rows, "size_bytes"),
        _gathered(months, rows, "digest"),
        _gathered(months, rows, "url"),
        sizes[0],
        sizes[1] if sizes[1].any() else None,
        codes,
    )


def _gathered(months: Mapping[str, PayloadColumns], rows: Mapping[str, Array], name: str) -> Array:
    pieces = [columns[name][rows[month]] for month, columns in months.items()]
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)
