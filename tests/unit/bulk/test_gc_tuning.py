"""Cycles are looked for less often for a while."""

import gc

import pytest

from nwx.bulk.gc_tuning import rare_collections


def test_the_thresholds_of_before_come_back() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="no"), rare_collections():
        assert gc.get_threshold()[0] > before[0]
        raise ValueError("no")
    assert gc.get_threshold() == before
