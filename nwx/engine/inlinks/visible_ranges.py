"""Linked URLs and their links without those that may not be shown, counted again."""

from collections.abc import Mapping

import numpy as np

from nwx.bulk.arrays import Array, narrow
from nwx.engine.inlinks.counts import CellCounts, count_linked_cells, is_new
from nwx.engine.inlinks.table import SELF, TargetRange
from nwx.engine.inlinks.texts import chosen_texts

_LINK_COLUMNS = ("document", "anchor", "kind", "flags")
_COUNTS = CellCounts._fields


def visible_range(
    found: TargetRange,
    documents: Mapping[str, Array],
    changed: Array,
    hidden_targets: Array,
) -> TargetRange:
    """Return what may be shown of the targets of a range; the range itself where that is all.

    `documents` are the linking documents: one without a cell is hidden. In
    `changed` (`bool[documents]`) those are True that have other cells than
    the range was counted with, in `hidden_targets` (`bool[targets]`) the
    targets that are left out.
    """
    arrays = found.arrays
    target = np.repeat(np.arange(len(found.keys)), np.diff(arrays["link_starts"]))
    linking = arrays["document"].astype(np.int64)
    if not (hidden_targets.any() or changed[linking].any()):
        return found
    seen = np.diff(documents["cell_starts"]) > 0
    kept = np.flatnonzero(seen[linking] & ~hidden_targets[target])
    linked, numbers = np.unique(target[kept], return_inverse=True)
    columns = {name: arrays[name][kept] for name in _LINK_COLUMNS}
    counts = _counts(numbers, columns, documents)
    bounds = np.arange(len(linked) + 1)
    return TargetRange(
        {
            **arrays,
            **chosen_texts(arrays, linked, "key"),
            **columns,
            "link_starts": np.searchsorted(numbers, bounds),
            "count_starts": np.searchsorted(counts.target, bounds),
            **{f"count_{name}": narrow(getattr(counts, name)) for name in _COUNTS[1:]},
        }
    )


def _counts(
    target: Array, columns: Mapping[str, Array], documents: Mapping[str, Array]
) -> CellCounts:
    counting = (columns["flags"] & SELF) == 0
    target, linking = target[counting], columns["document"][counting].astype(np.int64)
    once = is_new(target) | is_new(linking)
    return count_linked_cells(target[once], linking[once], documents)
