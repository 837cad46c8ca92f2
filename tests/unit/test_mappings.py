"""The mappings, shared by both engines."""

import pytest

from nwx.mappings import mapping, mapping_file, properties, version
from nwx.model import IndexName


@pytest.mark.parametrize("index", list(IndexName))
def test_each_index_has_a_strict_mapping_with_a_version(index: IndexName) -> None:
    assert version(index) >= 1
    assert properties(index)
    assert mapping(index)["mappings"]["dynamic"] in ("strict", False, "false")


def test_each_field_has_a_type() -> None:
    for index in IndexName:
        assert all("type" in field or "properties" in field for field in properties(index).values())


def test_an_unknown_file_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        mapping_file("nothing.json")
