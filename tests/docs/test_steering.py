"""The specification in docs/steering.md is valid and shows every option."""

import re
from dataclasses import fields
from pathlib import Path

from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.specifications.specification_files import read_specification, write_specification

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "steering.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_examples_are_specifications() -> None:
    assert EXAMPLES
    for example in EXAMPLES:
        found = read_specification(example, "docs/steering.md")
        assert read_specification(write_specification(found), "written") == found


def test_the_first_example_has_every_key() -> None:
    found = read_specification(EXAMPLES[0], "docs/steering.md")
    usual = CrawlSpecification("votes-2026")
    same = [name for name in _keys() if getattr(found, name) == getattr(usual, name)]
    assert set(same) <= {"name", "weights", "thresholds"}


def test_every_key_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert explained[: len(_keys())] == ["name", *explained[1 : len(_keys())]]
    assert set(_keys()) <= set(explained)


def _keys() -> list[str]:
    return [field.name for field in fields(CrawlSpecification)]
