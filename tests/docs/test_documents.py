"""Every console block of the documentation prints its documented output."""

import shutil
from pathlib import Path

import pytest

from tests.docs.console import Command, commands, matches, run

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    if any(commands(path.read_text()))
)


def test_the_main_documents_have_commands() -> None:
    assert {"README.md", "README-dedup.md"} <= set(DOCUMENTS)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_commands_print_what_the_document_says(name: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sample", tmp_path / "sample")
    for command in commands((ROOT / name).read_text()):
        printed = run(command, tmp_path, {})
        assert matches(command.output, printed), (
            f"{name}, block at line {command.line}: $ {command.text}\nprinted:\n{printed}"
        )


def test_output_is_compared_with_gaps() -> None:
    assert matches("one\n...three", "one\ntwo\n  three  \n")
    assert not matches("one", "one two")


def test_commands_are_read_with_their_output() -> None:
    text = "```console\n$ a \\\n> b\nout\n$ c\n```\n"
    assert list(commands(text)) == [Command(2, "a \\\nb", "out"), Command(2, "c", "")]
