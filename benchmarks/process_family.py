"""The memory and processor time of a process and its descendants."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path


class FamilyWatch:
    """Samples the total memory of a process and its descendants for its peak, and their work.

    `processor` is in seconds, up to the last sample before a process ended.
    """

    def __init__(self, pid: int) -> None:
        self.memory = 0
        self._pid, self._over = pid, threading.Event()
        self._worked: dict[int, float] = {}
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @property
    def processor(self) -> float:
        """The processor seconds of all processes."""
        return sum(self._worked.values())

    def stop(self) -> None:
        """Stop sampling."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            family = list(family_pids(self._pid))
            self._worked |= {pid: worked for pid in family if (worked := _worked_seconds(pid))}
            self.memory = max(self.memory, sum(map(_held, family)))


def family_seconds(pid: int) -> float:
    """Return the processor seconds of a process and its running descendants."""
    return sum(map(_worked_seconds, family_pids(pid)))


def family_memory(pid: int) -> int:
    """Return the current memory of a process and its descendants together, in bytes."""
    return sum(map(_held, family_pids(pid)))


def family_pids(pid: int) -> Iterator[int]:
    """Yield the ids of a process and its descendants."""
    yield pid
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = " ".join((thread / "children").read_text() for thread in threads)
    except OSError:
        return
    for child in children.split():
        yield from family_pids(int(child))


def _worked_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _held(pid: int) -> int:
    """Return the bytes of a process; shared memory is divided among the sharing processes.

    Mapped files do not count, as the system can evict them.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Anon:"))
