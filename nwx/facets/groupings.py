"""The combinations at or above the iceberg threshold of captures.

Groupings are processed from coarse to fine: a grouping is its parent refined by one more
criterion, and only captures of combinations kept in the parent are examined. A combination with
all captures of its parent has its features too. For the others, the number of unique documents
is the number of captures minus the captures that repeat a document of their combination. A
capture that shares its document with no other capture of a combination shares it with none of a
finer one: the finer the grouping, the fewer captures remain that may repeat another. URLs
likewise.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from nwx.bulk.arrays import Array, narrow
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.facets import feature_counts
from nwx.facets.codes import Labels, MonthColumns, check_bits
from nwx.facets.criteria import CUBE, Criterion, grouping_name
from nwx.facets.feature_counts import CellCaptures, CombinationsBefore, repeats
from nwx.facets.question import STORED_FEATURES
from nwx.facets.stored_build import Build, BuildDraft

_FIRST = (
    Criterion.MONTH,
    Criterion.SITE,
    Criterion.TLD,
    Criterion.TYPE,
    Criterion.SIZE,
    Criterion.DEPTH,
)
# First the criteria that leave the fewest repeating captures, then those that refine most.
_ORDER = tuple(dict.fromkeys((*_FIRST, *CUBE)))
_COUNTED_AT_ONCE = 1 << 26
_MOST_CELLS = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class Grouping:
    """The kept combinations of some criteria: one element each in `codes` and `features`.

    `rows` are the positions of their captures, `cells` (uint32) the combinations of these.
    `repeating` (bool, by capture) marks captures that may share their document, and captures that
    may share their URL, with another of the combination. `implied` are the codes of criteria that
    divide the combinations no further, such as the TLD when the site is a criterion.
    """

    criteria: tuple[Criterion, ...]
    codes: dict[Criterion, Array]
    features: dict[str, Array]
    rows: Array
    cells: Array
    repeating: tuple[Array, Array]
    implied: dict[Criterion, Array] = field(default_factory=dict)

    def with_implied(self) -> Iterator["Grouping"]:
        """Yield the grouping and every variant with implied criteria."""
        for size in range(len(self.implied) + 1):
            for some in combinations(self.implied, size):
                codes = self.codes | {name: self.implied[name] for name in some}
                yield replace(self, criteria=(*self.criteria, *some), codes=codes)

    def divides_no_more_than(self, parent: "Grouping") -> bool:
        """Return whether each combination has all captures of one of the parent's."""
        return len(self.rows) == len(parent.rows) and (
            len(self.features["captures"]) == len(parent.features["captures"])
        )

    @property
    def name(self) -> str:
        """The name of the grouping: its criteria in the order of CUBE."""
        return grouping_name(self.criteria)

    def columns(self, status: int) -> dict[str, Array]:
        """Return the combinations as stored columns, with the code of their status."""
        size = len(self.features["captures"])
        columns = {Criterion.STATUS.value: np.full(size, status, dtype=np.uint8)}
        columns |= {name.value: narrow(codes) for name, codes in self.codes.items()}
        return columns | {name: narrow(self.features[name]) for name in STORED_FEATURES}


def all_groupings() -> list[str]:
    """Return the names of all groupings."""
    return [
        grouping_name(some) for size in range(len(CUBE) + 1) for some in combinations(CUBE, size)
    ]


def count_groupings(
    captures: CellCaptures,
    min_captures: int,
    pool: Executor,
    wanted: Sequence[Criterion] = CUBE,
    before: CombinationsBefore | None = None,
) -> Iterator[Grouping]:
    """Yield each grouping with its combinations of at least `min_captures` captures.

    Only groupings of the `wanted` criteria. Combinations known from `before` are not recounted: the
    new captures are added. Raises EngineError if there are too many captures, documents or values
    to number their pairs.
    """
    counter = _Counter(captures, min_captures, pool, before)
    root = counter.root()
    if int(root.features["captures"][0]) >= min_captures:
        yield from _finer(counter, root, [name for name in _ORDER if name in wanted])


def _finer(
    counter: "_Counter", grouping: Grouping, further: Sequence[Criterion]
) -> Iterator[Grouping]:
    yield from grouping.with_implied()
    for place, criterion in enumerate(further, 1):
        refined = counter.refine(grouping, criterion)
        if refined.divides_no_more_than(grouping):
            yield from refined.with_implied()
            implied = grouping.implied | {criterion: refined.codes[criterion]}
            grouping = replace(grouping, implied=implied)
        elif len(refined.rows):
            yield from _finer(counter, refined, further[place:])


class _Counter:
    """Counts the combinations of the captures of one status."""

    def __init__(
        self,
        captures: CellCaptures,
        min_captures: int,
        pool: Executor,
        before: CombinationsBefore | None,
    ) -> None:
        self._captures = captures
        self._min_captures = min_captures
        self._before = before
        self._pool = pool
        self._cards = {
            name: int(codes.max(initial=0)) + 1 for name, codes in captures.codes.items()
        }

    def root(self) -> Grouping:
        total = len(self._captures.size_bytes)
        rows = np.arange(total, dtype=np.uint32 if total < 1 << 32 else np.int64)
        cells = np.zeros(total, dtype=np.uint32)
        repeating = np.ones(total, dtype=bool), np.ones(total, dtype=bool)
        counts = np.array([total], dtype=np.int64)
        unset = {name: np.zeros(1, dtype=np.int64) for name in STORED_FEATURES}
        grouping = Grouping((), {}, unset, rows, cells, repeating)
        split = np.ones(1, dtype=bool)
        return replace(grouping, features=self._features(grouping, counts, split))

    def refine(self, parent: Grouping, criterion: Criterion) -> Grouping:
        """Return the kept combinations of a grouping and one more criterion."""
        card = self._cards[criterion]
        size = len(parent.features["captures"]) * card
        check_bits(size.bit_length())
        keys = parent.cells.astype(np.int64)
        keys *= card
        keys += self._captures.codes[criterion][parent.rows]
        found, counts, cells = _frequent(keys, size, self._min_captures)
        kept = np.flatnonzero(cells >= 0)
        rows, cells = parent.rows[kept], cells[kept].astype(np.uint32)
        repeating = parent.repeating[0][kept], parent.repeating[1][kept]
        above = found // card
        features = {name: parent.features[name][above] for name in STORED_FEATURES}
        split = features["captures"] != counts
        codes = {name: column[above] for name, column in parent.codes.items()}
        codes[criterion] = found % card
        implied = {name: column[above] for name, column in parent.implied.items()}
        criteria = (*parent.criteria, criterion)
        refined = Grouping(criteria, codes, features, rows, cells, repeating, implied)
        if split.any():
            refined = replace(refined, features=self._features(refined, counts, split))
        return refined

    def _features(self, grouping: Grouping, counts: Array, split: Array) -> dict[str, Array]:
        """Return the features of a grouping; only those of `split` cells must be counted."""
        features, rows, cells = grouping.features, grouping.rows, grouping.cells
        repeating = grouping.repeating
        if self._before is not None:
            known, found = self._before.find(grouping.codes, self._cards, len(counts))
            known &= split
            split = split & ~known
            if known.any():
                more = feature_counts.added_features(
                    self._captures, self._before, rows, cells, len(counts), self._pool
                )
                features = {
                    name: np.where(known, found[name] + more[name], features[name])
                    for name in STORED_FEATURES
                }
            # Few cells are new: skip the captures of all others.
            some = np.flatnonzero(split[cells])
            rows, cells = rows[some], cells[some]
            repeating = repeating[0][some], repeating[1][some]
        if split.any():
            counted = self._count(rows, cells, counts, split, repeating)
            features = {
                name: np.where(split, counted[name], features[name]) for name in STORED_FEATURES
            }
        return features

    def _count(
        self,
        rows: Array,
        cells: Array,
        counts: Array,
        wanted: Array,
        repeating: tuple[Array, Array],
    ) -> dict[str, Array]:
        """Return the features of the wanted cells.

        Captures found to repeat no other are removed from `repeating`.
        """
        captures = self._captures
        open_rows = [_open(some, cells, wanted) for some in repeating]
        of_documents, of_urls = open_rows
        in_pool = self._pool.submit(repeats, captures.urls[rows[of_urls]], cells[of_urls])
        documents = repeats(captures.documents[rows[of_documents]], cells[of_documents])
        urls = in_pool.result()
        repeating[0][of_documents[~documents.suspected]] = False
        repeating[1][of_urls[~urls.suspected]] = False
        return feature_counts.count_cells(captures, rows, cells, counts, documents, urls)


def _open(repeating: Array, cells: Array, wanted: Array) -> Array:
    """Return the positions of captures that may repeat others of the wanted cells."""
    places = np.flatnonzero(repeating)
    return places if wanted.all() else places[wanted[cells[places]]]


def _frequent(keys: Array, size: int, least: int) -> tuple[Array, Array, Array]:
    """Return the frequent keys, their counts, and each key's position among them, or -1."""
    if size <= max(_COUNTED_AT_ONCE, 2 * len(keys)):
        counts = np.bincount(keys, minlength=size)
        often = np.flatnonzero(counts >= max(least, 1))
        return often, counts[often], _places(often, size)[keys]
    different, among, counts = np.unique(keys, return_inverse=True, return_counts=True)
    often = np.flatnonzero(counts >= least)
    return different[often], counts[often], _places(often, len(different))[among]


def _places(often: Array, size: int) -> Array:
    """Return the position in `often` of each number below `size`, or -1 (int32)."""
    if len(often) > _MOST_CELLS:
        check_bits(64)
    places = np.full(size, -1, dtype=np.int32)
    places[often] = np.arange(len(often), dtype=np.int32)
    return places


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
