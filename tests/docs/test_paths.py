"""Paths and modules mentioned in the documentation exist."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import nwx

PLUGINS = ("extractors", "enrichers", "exporters", "commands")
"""The groups of entry points."""

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
_FOLDERS = "benchmarks|docker|docs|mappings|nwx|sample|scripts|tests|webapp"
# Names in capitals, as in nwx/cli/NAME.py, are placeholders.
_PATH = re.compile(rf"`((?:{_FOLDERS})/[a-z0-9_./-]*)`")
_MODULE = re.compile(r"`((?:nwx|webapp|tests|benchmarks)(?:\.\w+)+)`")


def _exists(name: str) -> bool:
    """Return whether a dotted name is a module, or is defined in one."""
    parent, _, last = name.rpartition(".")
    if parent == "nwx" and (last in nwx.__all__ or last in PLUGINS):
        return True
    if (ROOT / parent.replace(".", "/")).is_dir():
        return find_spec(name) is not None
    module = (ROOT / parent.replace(".", "/")).with_suffix(".py")
    defined = rf"^(?:def |class )?{last}\b"
    return module.exists() and bool(re.search(defined, module.read_text(), re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_and_modules_exist(document: Path) -> None:
    text = document.read_text()
    assert [path for path in _PATH.findall(text) if not (ROOT / path).exists()] == []
    assert [name for name in _MODULE.findall(text) if not _exists(name)] == []
