"""Work distributed over processes gives the same results as in one."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from nwx.bulk.pool import Pool
from nwx.bulk.progress import WorkProgress
from nwx.errors import SourceError


def test_results_come_in_order_from_any_number_of_processes() -> None:
    work = [(number, 2) for number in range(40)]
    for workers in (1, 2):
        with Pool(workers) as pool:
            assert list(pool.map(pow, work)) == [number**2 for number in range(40)]
            assert list(pool.map(pow, [])) == []


def test_it_is_shown_how_much_is_done() -> None:
    shown: list[WorkProgress] = []
    with Pool(1) as pool:
        work = [(1, 1), (2, 1)]
        results = pool.map_shown(pow, work, shown.append, "counting", [10, 5])
        assert list(results) == [1, 2]
    assert shown == [WorkProgress("counting", 10, 15), WorkProgress("counting", 15, 15)]


@pytest.mark.parametrize("preload", [(), ("time",)])
def test_processes_do_not_run_the_script_again(tmp_path: Path, preload: tuple[str, ...]) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from nwx.bulk.pool import Pool\n"
        "print('run', flush=True)\n"
        f"with Pool(2, {preload}) as pool:\n"
        "    print(*pool.map(pow, [(2, 2), (3, 2)]))\n"
    )
    found = subprocess.run([sys.executable, script], capture_output=True, check=False)
    assert found.stdout.decode().split() == ["run", "4", "9"] and not found.stderr


def test_a_process_that_was_killed_is_told() -> None:
    with Pool(2) as pool, pytest.raises(SourceError, match="was killed"):
        list(pool.map(_killed, [(1,), (2,)]))


@pytest.mark.parametrize("preload", [(), ("time",)])
def test_processes_end_when_the_one_that_started_them_is_killed(preload: tuple[str, ...]) -> None:
    program = f"""
import time
from nwx.bulk.pool import Pool
if __name__ == "__main__":
    for _ in Pool(2, {preload}).map(time.sleep, [(0,), (600,)]):
        print("begun", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.kill()
        # Each worker has the other end of the pipe.
        assert process.communicate(timeout=120) == (b"", None)


def test_work_that_is_interrupted_twice_ends() -> None:
    program = """
import time
from nwx.bulk.pool import Pool
if __name__ == "__main__":
    with Pool(2) as pool:
        for _ in pool.map(time.sleep, [(0,), (2,)]):
            print("begun", flush=True)
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdout=pipe, stderr=pipe) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.3)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=10)
        finally:
            process.kill()


@pytest.mark.parametrize("preload", [(), ("polars",)])
def test_interrupted_workers_print_nothing(preload: tuple[str, ...]) -> None:
    program = f"""
import sys, time
from nwx.bulk.pool import Pool
if __name__ == "__main__":
    print("begun", flush=True)
    try:
        with Pool(2, {preload}) as pool:
            list(pool.map(time.sleep, [(600,), (600,)]))
    except KeyboardInterrupt:
        sys.exit(130)
"""
    pipe = subprocess.PIPE
    for seconds in (0.1, 0.2, 0.5):
        command = [sys.executable, "-c", program]
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, start_new_session=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            assert process.communicate(timeout=60) == (b"", b"")
            assert process.returncode == 130


def test_a_fork_server_that_was_killed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(_: object) -> int:
        raise EOFError("unexpected EOF")

    monkeypatch.setattr("multiprocessing.forkserver.read_signed", ends)
    with Pool(2, ["time"]) as pool, pytest.raises(SourceError, match="was killed"):
        list(pool.map(pow, [(1, 2)]))


def _killed(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
