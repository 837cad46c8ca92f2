"""Option types: numbers must be finite."""

import click
import pytest

from nwx.cli import option


@pytest.mark.parametrize("given", ["nan", "inf", "-1"])
def test_numbers_are_finite(given: str) -> None:
    with pytest.raises(click.BadParameter):
        option.Number(0).convert(given, None, None)
    assert option.Number(0).convert("0.5", None, None) == 0.5
