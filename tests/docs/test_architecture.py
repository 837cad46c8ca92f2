"""docs/architecture.md gives a reason for each library that nwx needs."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIBRARIES = (ROOT / "docs" / "architecture.md").read_text().partition("## Libraries")[2].lower()
NEEDED = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["remote"]]
NEEDED += PROJECT["optional-dependencies"]["spark"]


@pytest.mark.parametrize("requirement", NEEDED)
def test_a_library_is_named_with_its_reason(requirement: str) -> None:
    name = re.split(r"[\[<>=!~;]", requirement)[0]
    assert re.search(rf"^\|[^|]*\b{re.escape(name)}\b", LIBRARIES, re.MULTILINE), (
        f"name {name} in the table of libraries"
    )
