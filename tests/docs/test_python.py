"""The examples of docs/python.md run, and cover the public API."""

import doctest
import inspect
from pathlib import Path

import pytest

import nwx

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = ROOT / "docs" / "python.md"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_examples_print_what_the_document_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample").symlink_to(ROOT / "sample")
    text = DOCUMENT.read_text(encoding="utf-8").replace("…", "...")
    parsed = doctest.DocTestParser().get_doctest(text, {}, DOCUMENT.name, str(DOCUMENT), 0)
    told: list[str] = []
    done = doctest.DocTestRunner(optionflags=OPTIONS).run(parsed, out=told.append)
    assert done.failed == 0, "".join(told)
    assert done.attempted > 50


def test_every_public_name_has_an_example() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    shown = "".join(
        line for line in text.splitlines(keepends=True) if line.startswith((">>>", "..."))
    )
    # Mixins in other modules are for commands and pages.
    public = ("nwx.archive", "nwx.archive_work")
    methods = {
        name
        for name, method in inspect.getmembers(nwx.Archive, inspect.isfunction)
        if name[0] != "_" and method.__module__ in public
    }
    without = {"Archive", "ImportReport", "close"}  # mentioned in text, and in types of other names
    names = ({*nwx.__all__} | methods) - without
    assert {name for name in names if f".{name}" not in shown} == set()
    assert {name for name in without if f"`{name}" not in text and f".{name}" not in text} == set()
