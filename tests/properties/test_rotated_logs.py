"""However a log is written, rotated, compressed and read, each line is read once and in order."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.bulk.rotated import RotatedLog, line

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 120)),
        st.sampled_from(("rename", "copy_and_truncate", "look", "look", "restart", "pack")).map(
            lambda name: (name, 0)
        ),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(steps=STEPS, garbage=st.sets(st.integers(0, 200), max_size=20))
def test_each_line_once(steps: list[tuple[str, int]], garbage: set[int]) -> None:
    lines = (b"garbage \xff\x00\n" if n in garbage else line(n + 1) for n in range(400))
    stream = b"".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        log = RotatedLog(Path(folder))
        packable: list[Path] = []
        for name, number in steps:
            if name == "write":
                at = len(log.written)
                log.write(stream[at : at + number])
            elif name == "pack":
                if packable:
                    log.pack(packable.pop(0))
            elif name in ("look", "restart"):
                getattr(log, name)()
            elif log.path.exists() and log.path.stat().st_size:
                packable.append(getattr(log, name)())
        log.look()
        assert log.found == log.whole[: len(log.found)]
        # The last part may be written to a new file.
        log.write(stream[len(log.written) :])
        log.look()
        assert log.found == stream
        assert log.problems == []
        log.follower.close()
