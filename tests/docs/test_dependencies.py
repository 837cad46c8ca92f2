"""docs/contributing.md gives the purpose of each library."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONTRIBUTING = (ROOT / "docs" / "contributing.md").read_text()
LIBRARIES = CONTRIBUTING.partition("## Dependencies")[2].partition("\n## ")[0].lower()
NEEDED = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["remote"]]
NEEDED += PROJECT["optional-dependencies"]["spark"]


@pytest.mark.parametrize("requirement", NEEDED)
def test_a_library_is_named_with_its_reason(requirement: str) -> None:
    name = re.split(r"[\[<>=!~;]", requirement)[0]
    assert re.search(rf"^\|[^|]*\b{re.escape(name)}\b", LIBRARIES, re.MULTILINE), (
        f"name {name} in the table of libraries"
    )
