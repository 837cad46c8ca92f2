"""The limits of queries are those in docs/queries.md."""

from pathlib import Path

import pytest

from nwx.engine.document_index import MAX_TERMS
from nwx.query import cost, escapes
from nwx.query.fields import DEFAULT_FIELDS
from nwx.settings import DEFAULT_SEARCH_SECONDS

TEXT = (Path(__file__).parent.parent.parent / "docs" / "queries.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    [
        f"| characters | {escapes.MAX_CHARACTERS:,} |",
        f"{escapes.MAX_TOKENS:,} words, brackets {escapes.MAX_DEPTH} deep",
        f"operators {cost.MAX_TREE_DEPTH} deep |",
        f"{cost.MAX_PATTERN_CHARACTERS:,} characters, {cost.MAX_WILDCARDS} wildcards",
        f"{cost.MAX_FUZZY_CHARACTERS} characters",
        f"| cost of the whole query | {cost.MAX_COST:,} |",
        f"| `begin*` | {cost.PREFIX_COST} |",
        f"{cost.PATTERN_COST} for each {cost.PATTERN_STEP} characters",
        f"| {cost.FUZZY_COSTS[1]}, {cost.FUZZY_COSTS[2]} |",
        f'(`"a b c"~5`) | {cost.NEAR_COST} |',
        f"| a date or span of dates | {cost.DATES_COST} |",
        f"| a range of numbers | {cost.RANGE_COST} |",
        f"{MAX_TERMS:,} of them at most",
        f"longer than {DEFAULT_SEARCH_SECONDS:g} seconds",
    ],
)
def test_the_document_has_the_limits(line: str) -> None:
    assert line in TEXT


def test_parts_without_a_field_are_looked_up_in_four() -> None:
    assert len(DEFAULT_FIELDS) == 4
