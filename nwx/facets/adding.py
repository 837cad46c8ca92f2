"""What new captures add to combinations that a build before has counted."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from nwx.engine.arrays import Array
from nwx.facets.criteria import CUBE, Criterion
from nwx.facets.question import STORED_FEATURES
from nwx.facets.summing import sums, varied_bytes

_MOST_KEYS = 1 << 62


@dataclass(frozen=True, slots=True)
class Before:
    """What was known of the combinations of a status, and which captures are new since.

    `documents` and `urls` tell which captures share theirs with a new one.
    """

    groupings: Mapping[str, Mapping[str, Array]]
    new: Array
    documents: Array
    urls: Array

    def find(
        self, codes: Mapping[Criterion, Array], cards: Mapping[Criterion, int], size: int
    ) -> tuple[Array, dict[str, Array]]:
        """Tell which of so many combinations were known, and with which features."""
        names = [name for name in CUBE if name in codes]
        columns = self.groupings.get(",".join(names))
        known = np.zeros(size, dtype=bool)
        features = {name: np.zeros(size, dtype=np.int64) for name in STORED_FEATURES}
        if columns is None or np.prod([float(cards[name]) for name in names]) > _MOST_KEYS:
            return known, features
        before, now = (_keys(found, names, cards) for found in (columns, codes))
        if not names:
            before, now = np.zeros(len(columns["captures"]), np.int64), np.zeros(size, np.int64)
        order = np.argsort(before)
        places = np.searchsorted(before[order], now)
        known[:] = places < len(order)
        rows = order[places[known]]
        same = before[rows] == now[known]
        known[known] = same
        for name, column in features.items():
            column[known] = columns[name][rows[same]]
        return known, features


def _keys(
    codes: Mapping[Criterion, Array] | Mapping[str, Array],
    names: Sequence[Criterion],
    cards: Mapping[Criterion, int],
) -> Array:
    keys: Array = np.zeros(1, dtype=np.int64)
    for name in names:
        keys = keys * cards[name] + codes[name]
    return keys


@dataclass(frozen=True, slots=True)
class Numbers:
    """The bytes, documents and URLs of captures; see Captures in groupings."""

    size_bytes: Array
    documents: Array
    urls: Array
    sizes: Array
    varied: Array | None


def added(
    captures: Numbers, before: Before, rows: Array, cells: Array, size: int, pool: Executor
) -> dict[str, Array]:
    """Return what new captures add to the features of cells, of which `rows` are the captures."""
    new = before.new[rows]
    of_new = cells[new]
    touched = np.zeros(size, dtype=bool)
    touched[of_new] = True
    own = touched[cells]
    of_urls = pool.submit(_fresh_urls, captures, before, rows, cells, own)
    late = np.flatnonzero(own & before.documents[rows])
    fresh_cells, fresh = _fresh(captures.documents[rows[late]], cells[late], new[late])
    unique_bytes = sums(fresh_cells, captures.sizes[fresh], size)
    if captures.varied is not None:
        late = late[captures.varied[captures.documents[rows[late]]]]
        for sign, some in ((1, late), (-1, late[~new[late]])):
            numbers, sizes = captures.documents[rows[some]], captures.size_bytes[rows[some]]
            unique_bytes += sign * varied_bytes(cells[some], numbers, sizes, size)
    return {
        "captures": np.bincount(of_new, minlength=size),
        "unique_documents": np.bincount(fresh_cells, minlength=size),
        "unique_urls": np.bincount(of_urls.result(), minlength=size),
        "bytes": sums(of_new, captures.size_bytes[rows[new]], size),
        "unique_bytes": unique_bytes,
    }


def _fresh_urls(captures: Numbers, before: Before, rows: Array, cells: Array, own: Array) -> Array:
    late = np.flatnonzero(own & before.urls[rows])
    rows, cells = rows[late], cells[late]
    return _fresh(captures.urls[rows], cells, before.new[rows])[0]


def _fresh(numbers: Array, cells: Array, new: Array) -> tuple[Array, Array]:
    """Return the cells and numbers of pairs that only new captures have, each once."""
    bits = np.uint64(int(cells.max(initial=1)).bit_length())
    pairs = numbers.astype(np.uint64) << bits | cells.astype(np.uint64)
    pairs = pairs << np.uint64(1) | new.astype(np.uint64)
    pairs.sort()
    # Captures of before come first.
    first = np.ones(len(pairs), dtype=bool)
    first[1:] = pairs[1:] >> np.uint64(1) != pairs[:-1] >> np.uint64(1)
    found = (pairs[first & (pairs & np.uint64(1) == 1)] >> np.uint64(1)).view(np.int64)
    return found & ((1 << int(bits)) - 1), found >> int(bits)
