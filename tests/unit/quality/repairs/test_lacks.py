"""Pairs of pages and what they lack."""

import numpy as np

from nwx.quality.repairs.lacks import lacks_of


def test_each_pair_counts_once() -> None:
    found = lacks_of(np.array([2, 0, 2, 2]), np.array([1, 0, 1, 0]), 3, np.array([0, 0, 0, 1]))
    assert list(zip(found.page.tolist(), found.resource.tolist(), strict=True)) == [
        (0, 0),
        (2, 0),
        (2, 1),
    ]
    assert found.pages_by_resource().tolist() == [2, 1, 0]
    assert found.broken_pages() == 3


def test_resources_in_another_order() -> None:
    found = lacks_of(np.array([0, 1]), np.array([0, 2]), 3, np.array([0, 0]))
    turned = found.in_order(np.array([2, 1, 0]))
    assert turned.resource.tolist() == [2, 0]
    assert turned.pages_by_resource().tolist() == [1, 0, 1]
