"""Packed lists: what the script of the server reads is in the list, and nothing else is."""

import json

from hypothesis import given
from hypothesis import strategies as st

from nwx.engine.search_server.documents.lists.packed_numbers import pack_numbers

NUMBERS = st.one_of(
    st.integers(0, 2**63 - 1),
    st.integers(0, 40).map(lambda low: (4_711 << 50) + low),
    st.sampled_from([0, 1, 2**50 - 1, 2**50, 2**63 - 1]),
)


def is_listed(number: int, begins: str, rests: str) -> bool:
    """Do what the script does."""
    bucket = 4 * (number >> 50)
    begin, end = (read(begins[place : place + 4]) for place in (bucket, bucket + 4))
    return any(
        read(rests[at : at + 10]) == number & (2**50 - 1) for at in range(begin * 10, end * 10, 10)
    )


def read(digits: str) -> int:
    value = 0
    for digit in digits:
        value = (value << 5) + ord(digit) - 48
    return value


@given(st.frozensets(NUMBERS, max_size=60), st.lists(NUMBERS, max_size=20))
def test_a_number_is_found_where_it_is_listed(numbers: frozenset[int], others: list[int]) -> None:
    packed = json.loads(bytes(pack_numbers(numbers)))
    assert all(is_listed(number, **packed) for number in numbers)
    assert [is_listed(one, **packed) for one in others] == [one in numbers for one in others]


def test_packed_lists_are_written_into_json_as_they_are() -> None:
    packed = bytes(pack_numbers(frozenset(range(0, 2**63, 2**49))))
    assert b"\\" not in packed
    assert packed.isascii()
