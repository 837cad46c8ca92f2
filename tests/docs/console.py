"""Runs the `console` blocks of a document and compares their output.

A block has commands (`$ …`, continued by lines that begin with `> `) and their output, in which
`...` stands for any text, including line breaks. All blocks of a document run in one folder,
in order. `nwx` commands are forked from a process that has loaded all modules.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cli.conftest import COMMAND, command_server

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A command in a document and its documented output."""

    line: int
    text: str
    output: str


def commands(document: str) -> Iterator[Command]:
    """Yield the commands of all console blocks, in order."""
    for block in _BLOCK.finditer(document):
        line = document.count("\n", 0, block.start(1)) + 1
        for part in re.split(r"^\$ ", block.group(1), flags=re.MULTILINE)[1:]:
            first, *rest = part.splitlines()
            while rest and rest[0].startswith("> "):
                first += "\n" + rest.pop(0)[2:]
            yield Command(line, first, "\n".join(rest))


def run(command: Command, folder: Path, environment: Mapping[str, str]) -> str:
    """Return the output of a command; messages on stderr are not compared."""
    commands = command_server().descriptor
    folders = (Path(__file__).parent / "bin", Path(sys.executable).parent, os.environ["PATH"])
    set_here = {
        "PATH": os.pathsep.join(map(str, folders)),
        "NWX_COMMAND": COMMAND,
        "NWX_COMMANDS": str(commands),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    done = subprocess.run(
        ["bash", "-c", command.text],
        cwd=folder,
        env={**os.environ, **environment, **set_here},
        pass_fds=[commands],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    return done.stdout.decode()


def matches(expected: str, printed: str) -> bool:
    """Return whether the output is as expected; white space at line ends is ignored."""
    pattern = ".*?".join(re.escape(piece) for piece in _tidy(expected).split("..."))
    return re.fullmatch(pattern, _tidy(printed), re.DOTALL) is not None


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
