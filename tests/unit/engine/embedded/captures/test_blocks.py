"""Some values of a block's columns are extracted without the rest."""

from pathlib import Path

import pytest

from nwx.captures import VALUE_FIELDS
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.captures.blocks import (
    Block,
    BlockError,
    BlockPacker,
    block_texts,
    kept_block,
)
from nwx.model import Batch
from tests.conformance.archive import capture

NUMBER = 5
COLUMNS = {name: ["same"] * NUMBER for name in (*VALUE_FIELDS, "source", "batch")} | {
    "urlkey": [f"example,a)/{place}" for place in range(NUMBER)],
    "digest": [f"sha1:{place}" for place in range(NUMBER)],
}


def test_values_between_any_two_places() -> None:
    lines, rest = BlockPacker().packed(COLUMNS, block_texts(COLUMNS, NUMBER))
    for block in (Block(NUMBER, lines, rest), kept_block(NUMBER, lines)):
        for begin in range(NUMBER):
            for end in range(begin + 1, NUMBER + 1):
                for name in ("urlkey", "url"):
                    assert list(block.column(name, begin, end)) == COLUMNS[name][begin:end]


def test_a_column_with_too_few_values_is_damage() -> None:
    lines, _ = BlockPacker().packed(COLUMNS, block_texts(COLUMNS, NUMBER))
    with pytest.raises(BlockError, match="5 of 6 values"):
        kept_block(NUMBER + 1, lines).column("urlkey")


def test_merges_leave_the_cache_of_blocks_to_look_ups(tmp_path: Path) -> None:
    kept_block.cache_clear()
    with EmbeddedEngine(tmp_path / "archive") as engine:
        for offset in range(40):
            engine.write(Batch(captures=(capture("http://example.org/", "2015", offset=offset),)))
        engine.refresh()
    assert kept_block.cache_info().currsize == 0
