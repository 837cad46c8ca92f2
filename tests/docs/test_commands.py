"""The reference of the commands is what they say of themselves."""

from pathlib import Path

from tests.docs.commands import reference

REFERENCE = Path(__file__).parent.parent.parent / "docs" / "commands.md"


def test_every_command_and_option_is_documented() -> None:
    assert REFERENCE.read_text() == reference(), "run `make docs`"
