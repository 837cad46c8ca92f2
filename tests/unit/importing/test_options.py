"""Options that make no sense are refused."""

import pytest

from nwx.errors import UsageError
from nwx.extract import PARSERS as EXTRACT_PARSERS
from nwx.importing import PARSERS, ImportOptions


@pytest.mark.parametrize("name", ["", "a b", "ä", "a/b", "x" * 65, "a\n"])
def test_names_of_collections_are_checked(name: str) -> None:
    with pytest.raises(UsageError, match="no name for a collection"):
        ImportOptions(collection=name)


def test_good_names_of_collections_are_taken() -> None:
    for name in ("a", "News-2014_v1.0", "x" * 64):
        assert ImportOptions(collection=name).collection == name


def test_the_parsers_are_those_of_the_extraction() -> None:
    assert PARSERS == EXTRACT_PARSERS
    with pytest.raises(UsageError, match="fast or bs4"):
        ImportOptions(parser="slow")


def test_jobs_default_to_the_cores() -> None:
    assert ImportOptions().processes >= 1
    assert ImportOptions(jobs=3).processes == 3
    with pytest.raises(UsageError):
        ImportOptions(jobs=-1)
