"""The reference of all commands, made from their --help.

python -m tests.docs.commands > docs/commands.md
"""

from collections.abc import Iterator

import click

from nwx.cli.main import cli

_HEAD = """\
# Commands

What `nwx COMMAND --help` says, for all commands. Made by `make docs`; a test holds it to them.
"""


def reference() -> str:
    """Return the text of docs/commands.md."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    with click.Context(cli, info_name="nwx", max_content_width=90, terminal_width=90) as context:
        yield from _of_command("nwx", cli, context)


def _of_command(title: str, command: click.Command, context: click.Context) -> Iterator[str]:
    """Give the section of a command, and those of the commands below it."""
    yield _section(title, command, context)
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        with click.Context(inner, parent=context, info_name=name) as below:
            yield from _of_command(f"{title} {name}", inner, below)


def _section(title: str, command: click.Command, context: click.Context) -> str:
    context.terminal_width = 90
    return f"## {title}\n\n```text\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    print(reference(), end="")
