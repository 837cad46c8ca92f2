"""The combinations of a build, from the columns of its months."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np

from nwx.bulk.arrays import Array
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.facets.builds.cell_features import CellCaptures, CombinationsBefore
from nwx.facets.builds.groupings import Grouping, all_groupings, count_groupings
from nwx.facets.codes import Labels
from nwx.facets.criteria import CUBE, Criterion
from nwx.facets.question import STORED_FEATURES
from nwx.facets.revisits import MonthColumns
from nwx.facets.stored_build import Build, BuildDraft

_Pieces = dict[str, list[dict[str, Array]]]


def store_combinations(
    draft: BuildDraft,
    months: Mapping[str, MonthColumns],
    labels: Labels,
    sizes: tuple[Array, Array],
    min_captures: int,
    progress: ShowProgress,
    base: Build | None = None,
) -> int:
    """Write the combinations of all groupings and return their number.

    `base` is the previous build, if its months are unchanged in this one and `min_captures` is the
    same: then only new captures are counted.
    """
    statuses = Criterion.STATUS.definition.values
    known = base.groupings() if base else {}
    new = {name: columns for name, columns in months.items() if name in draft.made}
    found: _Pieces = {name: [] for name in all_groupings()}
    done, total = 0, len(statuses) * len(found)
    with ThreadPoolExecutor(1) as pool:
        for status in range(len(statuses)):
            captures = _captures(status, months, labels, sizes)
            if len(captures.size_bytes) >= min_captures:
                own = _of_status(known, status)
                if base is None:
                    combinations = count_groupings(captures, min_captures, pool)
                else:
                    before = _before(captures, own, status, months, new)
                    _keep_months(found, own)
                    of_new = _captures(status, new, labels, sizes)
                    combinations = _with_new(captures, before, of_new, min_captures, pool)
                for grouping in combinations:
                    _keep(found, grouping, status)
                    done += 1
                    progress(WorkProgress("combining", done, total))
            done = (status + 1) * len(found)
    groupings = {name: _together(pieces) for name, pieces in found.items() if pieces}
    draft.write_combinations(groupings)
    return sum(len(columns["status"]) for columns in groupings.values())


def _with_new(
    captures: CellCaptures,
    before: CombinationsBefore,
    of_new: CellCaptures,
    min_captures: int,
    pool: Executor,
) -> Iterator[Grouping]:
    """Yield the combinations over all months, then by month for the new captures."""
    others = [name for name in CUBE if name is not Criterion.MONTH]
    yield from count_groupings(captures, min_captures, pool, others, before)
    for grouping in count_groupings(of_new, min_captures, pool):
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


def _keep_months(found: _Pieces, known: Mapping[str, dict[str, Array]]) -> None:
    """Keep the combinations of unchanged months."""
    for name, columns in known.items():
        if Criterion.MONTH in columns and len(columns["captures"]):
            found[name].append(columns)


def _before(
    captures: CellCaptures,
    known: Mapping[str, Mapping[str, Array]],
    status: int,
    months: Mapping[str, MonthColumns],
    new: Mapping[str, MonthColumns],
) -> CombinationsBefore:
    lengths = [int(np.count_nonzero(one["status"] == status)) for one in months.values()]
    is_new = np.repeat([name in new for name in months], lengths)
    late = []
    for numbers in (captures.documents, captures.urls):
        marks = np.zeros(int(numbers.max(initial=0)) + 1, dtype=bool)
        marks[numbers[is_new]] = True
        late.append(marks[numbers])
    return CombinationsBefore(known, is_new, late[0], late[1])


def _keep(found: _Pieces, grouping: Grouping, status: int) -> None:
    if len(grouping.features["captures"]):
        found[grouping.name].append(grouping.columns(status))


def _together(pieces: list[dict[str, Array]]) -> dict[str, Array]:
    """Return the combinations of all statuses, in the order of their codes."""
    names = ["status", *(name for name in CUBE if name in pieces[0]), *STORED_FEATURES]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in names}


def _captures(
    status: int, months: Mapping[str, MonthColumns], labels: Labels, sizes: tuple[Array, Array]
) -> CellCaptures:
    """Return the captures of a status, of all months together."""
    rows = {name: np.flatnonzero(one["status"] == status) for name, one in months.items()}
    codes: dict[Criterion, Array] = {
        name: _gathered(months, rows, name.value) for name in CUBE if name is not Criterion.MONTH
    }
    numbers = labels.codes(Criterion.MONTH, months)
    lengths = [len(found) for found in rows.values()]
    codes[Criterion.MONTH] = np.repeat(np.array(numbers, dtype=np.uint16), lengths)
    return CellCaptures(
        _gathered(months, rows, "size_bytes"),
        _gathered(months, rows, "digest"),
        _gathered(months, rows, "url"),
        sizes[0],
        sizes[1] if sizes[1].any() else None,
        codes,
    )


def _gathered(months: Mapping[str, MonthColumns], rows: Mapping[str, Array], name: str) -> Array:
    pieces = [columns[name][rows[month]] for month, columns in months.items()]
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)
