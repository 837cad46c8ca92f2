"""Files mutated by `benchmarks/endurance.py`: reproducible by seed, and read without exceptions."""

from pathlib import Path

import nwx
from benchmarks.mutated_files import MutatedFiles

_SAMPLE = Path(__file__).parents[2] / "sample" / "archive"


def test_mutated_files_are_read_to_their_end(tmp_path: Path) -> None:
    mutated = MutatedFiles([_SAMPLE])
    for seed in range(20):
        path = mutated.write(seed, tmp_path)
        before = path.read_bytes()
        assert mutated.write(seed, tmp_path).read_bytes() == before
        for record in nwx.records(path):
            assert (record.type == "damage") == bool(record.problem)
            assert isinstance(record.payload, bytes)
