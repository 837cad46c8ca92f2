"""Building facets from the command line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from nwx.cli.main import cli
from nwx.errors import UsageError


@pytest.mark.parametrize(
    "option", ["--source", "--sites", "--min-captures=5", "--anew", "--memory=100"]
)
def test_what_was_counted_elsewhere_is_not_counted_in_another_way(
    tmp_path: Path, option: str
) -> None:
    name = option.partition("=")[0]
    given = [name, str(tmp_path)] if name in ("--source", "--sites") else [option]
    arguments = ["--engine", str(tmp_path / "archive"), "build-facets", "--from", str(tmp_path)]
    ran = CliRunner().invoke(cli, [*arguments, *given], standalone_mode=False)
    assert isinstance(ran.exception, UsageError)
    assert str(ran.exception).endswith(f"leave out {name}")
    assert not (tmp_path / "archive").exists()
