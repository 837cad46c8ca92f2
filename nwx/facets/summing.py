"""Sizes added up by cells."""

import numpy as np

from nwx.engine.arrays import Array

_EXACT = 1 << 53


def varied_bytes(cells: Array, numbers: Array, sizes: Array, size: int) -> Array:
    """Return the bytes of documents whose captures differ in size: the largest in a cell counts."""
    order = np.lexsort((sizes, numbers, cells))
    cells, numbers, sizes = cells[order], numbers[order], sizes[order]
    last = np.ones(len(cells), dtype=bool)
    last[:-1] = (cells[1:] != cells[:-1]) | (numbers[1:] != numbers[:-1])
    return sums(cells[last], sizes[last], size)


def sums(cells: Array, sizes: Array, size: int) -> Array:
    """Return the sum of the sizes of each cell, exactly."""
    if int(sizes.max(initial=0)) * len(sizes) < _EXACT:
        return np.bincount(cells, weights=sizes, minlength=size).astype(np.int64)
    low = np.bincount(cells, weights=sizes & 0xFFFF, minlength=size).astype(np.int64)
    return low + (sums(cells, sizes >> 16, size) << 16)
