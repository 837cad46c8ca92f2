"""The reference of the commands is what they say of themselves."""

from pathlib import Path

from click.testing import CliRunner

from nwx.cli.main import cli
from tests.docs.commands import reference

ROOT = Path(__file__).parent.parent.parent


def test_every_command_and_option_is_documented() -> None:
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == reference(), (
        "run `make docs`"
    )


def test_help_is_the_same_whatever_ran_before() -> None:
    before = reference()
    assert CliRunner().invoke(cli, ["zipnum", "build", "--help"]).exit_code == 0
    assert reference() == before
