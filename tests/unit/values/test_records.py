"""Records made from others by the names of their fields."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from nwx.values.records import add_counts, copied, from_mapping


class Place(NamedTuple):
    file: str
    offset: int = 0


@dataclass(slots=True)
class Sums:
    offset: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def test_values_come_before_sources_and_first_sources_before_others() -> None:
    assert copied(Place, Sums(3), Place("a", 2)) == Place("a", 3)
    assert copied(Place, Sums(3), file="b") == Place("b", 3)
    assert copied(Place, object(), file="c") == Place("c")


def test_a_field_without_value_or_default_is_an_error() -> None:
    with pytest.raises(TypeError):
        copied(Place, Sums(3))


def test_a_mapping_gives_what_it_has_of_the_fields() -> None:
    assert from_mapping(Place, {"file": "a", "other": 1}, offset=2) == Place("a", 2)
    assert from_mapping(Place, {"file": "a"}) == Place("a")


def test_counts_are_added_field_by_field() -> None:
    total = Sums(1, Counter(a=1))
    add_counts(total, Sums(2, Counter(a=1, b=1)))
    assert total == Sums(3, Counter(a=2, b=1))
