"""The command reference equals the help of the commands."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from nwx.cli.main import cli
from tests.docs.commands import every_command, reference
from tests.docs.test_paths import DOCUMENTS

ROOT = Path(__file__).parent.parent.parent
_EXAMPLE = re.compile(r"(?<![\w./-])nwx (?!spark submit)((?:\\\n|[^`|;&\n#()])*)")
_OPTION = re.compile(r"--[a-z][a-z-]*")


def test_every_command_and_option_is_documented() -> None:
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == reference(), (
        "run `make docs`"
    )


def test_options_of_examples_exist() -> None:
    known = {title: _options(context) for title, context in every_command()}
    unknown = [
        f"{document.name}: {title} {option}"
        for document in DOCUMENTS
        for piece in _EXAMPLE.findall(document.read_text(encoding="utf-8"))
        for title, option in _named(piece.replace("\\\n", ""), known)
        if option not in known[title]
    ]
    assert unknown == []


def _options(context: click.Context) -> set[str]:
    return {name for one in context.command.get_params(context) for name in one.opts}


def _named(example: str, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the options of an example, each with its command."""
    title = "nwx"
    for word in example.split(" -- ")[0].split():
        if f"{title} {word}" in known:
            title = f"{title} {word}"
        elif option := _OPTION.match(word):
            yield title, option[0]


def test_help_is_the_same_whatever_ran_before() -> None:
    before = reference()
    assert CliRunner().invoke(cli, ["zipnum", "build", "--help"]).exit_code == 0
    assert reference() == before
