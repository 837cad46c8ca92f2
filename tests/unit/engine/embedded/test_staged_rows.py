"""Batches as rows."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.embedded.staged_rows import Numbers, batch_rows, dates_rows
from nwx.errors import EngineError
from nwx.model import Batch, Dates
from tests.unit.engine.embedded.making import batch, page


def test_of_two_documents_with_one_id_the_better_stays() -> None:
    late, early = page(1, "late"), page(1, "early", timestamp="20090101000000")
    for order in ((late, early), (early, late)):
        [row] = batch_rows(Batch(order)).documents
        assert row.entry is not None
        assert row.entry["content"] == "early"


def test_each_pair_of_a_key_is_there_once_and_the_own_date_too() -> None:
    one = page(1)
    rows = batch_rows(batch(one))
    assert rows.dates == batch_rows(replace(batch(one), dates=())).dates
    pair = ("20100101000000", "web")
    [row] = dates_rows([Dates("k", (pair, pair)), Dates("k", (pair,)), Dates("none", ())])
    assert (row.key, row.seen) == ("k", ((20100101000000, "web"),))


def test_captures_are_grouped_by_file() -> None:
    one, two = page(1).capture, page(2).capture
    other = replace(two, source_file="b.warc")
    first, second = batch_rows(Batch(captures=(one, other, two))).captures
    assert (first.source_file, len(first.rows)) == ("a.warc", 2)
    assert (second.source_file, len(second.rows)) == ("b.warc", 1)


TAKE = """
import sys
from pathlib import Path
from nwx.engine.embedded.staged_rows import Numbers
print(*(Numbers(Path(sys.argv[1])).take(3) for _ in range(200)))
"""


def test_numbers_are_given_once_by_all_processes(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "numbers")
    numbers.begin(7)
    command = [sys.executable, "-c", TAKE, str(tmp_path / "numbers")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    taken = [int(first) for one in running for first in one.communicate()[0].split()]
    assert sorted(taken) == list(range(7, 7 + 3 * 600, 3))
    assert numbers.take(1) == 7 + 3 * 600


def test_without_a_writer_there_are_none(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "numbers")
    with pytest.raises(EngineError, match="no process has the archive open"):
        numbers.take(1)


def test_who_takes_numbers_while_a_writer_begins_gets_none_from_before(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "numbers")
    numbers.begin(1_000)
    command = [sys.executable, "-c", TAKE, str(tmp_path / "numbers")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        while other.poll() is None:
            numbers.begin(1_000)
        assert other.stdout is not None
        assert min(map(int, other.stdout.read().split())) >= 1_000
