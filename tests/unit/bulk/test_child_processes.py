"""New interpreters that answer requests: reused while they run, replaced when they end."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from nwx.bulk.child_processes import ChildProcess, Death, KeptProcess, death_of, requests
from nwx.bulk.process_limits import limit_memory, set_deadline

SECONDS = 60.0


def answer_requests(connection: Connection) -> None:
    """Answer with the id of the process, except for some requests."""
    for request in requests(connection):
        match request:
            case b"hang":
                time.sleep(3600)
            case b"hang in native code":
                set_deadline(0.2)
                time.sleep(3600)
            case b"fail":
                print("a word")
                sys.exit("no such\tlanguage")
            case b"hoard":
                limit_memory(256 << 20)
                bytearray(1 << 30)
            case b"kill always" | b"kill once":
                if request == b"kill always" or not Path("killed").exists():
                    Path("killed").touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            case b"leave":
                connection.send_bytes(b"bye")
                return
        connection.send_bytes(str(os.getpid()).encode())


@pytest.fixture
def kept() -> Iterator[KeptProcess]:
    with closing(KeptProcess(answer_requests)) as made:
        yield made


def ask(kept: KeptProcess, request: bytes = b"") -> bytes | Death:
    return kept.ask(request, seconds=SECONDS)


def test_a_process_is_kept_for_the_next_question(kept: KeptProcess) -> None:
    assert ask(kept) == ask(kept) == str(kept.kept.pid if kept.kept else 0).encode()


@pytest.mark.parametrize(
    ("request_", "how", "words"),
    [
        (b"fail", "exit code 1", "no such?language"),
        (b"hoard", "exit code 1", "MemoryError"),
        (b"hang in native code", "SIGALRM", ""),
    ],
)
def test_it_is_known_how_a_process_ended(
    kept: KeptProcess, request_: bytes, how: str, words: str
) -> None:
    first, death = ask(kept), ask(kept, request_)
    assert isinstance(death, Death)
    assert (death.how, death.was_late) == (how, how == "SIGALRM")
    assert words in death.last_line
    assert ask(kept) != first


def test_a_process_that_does_not_answer_in_time_is_ended(kept: KeptProcess) -> None:
    death = kept.ask(b"hang", seconds=0.1)
    assert isinstance(death, Death)
    assert death.was_late
    assert kept.kept is None


def test_a_process_that_ended_unseen_is_replaced(kept: KeptProcess) -> None:
    assert ask(kept, b"leave") == b"bye"
    assert isinstance(ask(kept), bytes)


def test_a_process_that_was_killed_is_replaced(kept: KeptProcess) -> None:
    first = ask(kept)
    assert kept.kept is not None
    os.kill(kept.kept.pid, signal.SIGKILL)
    kept.kept.death()
    assert ask(kept) != first


def test_another_is_asked_once_where_somebody_kills_a_process(
    kept: KeptProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(ask(kept, b"kill once"), bytes)
    assert ask(kept, b"kill always") == Death(-signal.SIGKILL, "no reason given")


def test_a_process_is_replaced_after_many_questions() -> None:
    with closing(KeptProcess(answer_requests, most_questions=2)) as kept:
        first = ask(kept)
        assert ask(kept) == first
        assert kept.kept is None


def test_a_process_that_was_forked_leaves_that_of_its_parent_alone(kept: KeptProcess) -> None:
    ask(kept)
    process = kept.kept
    assert process is not None
    kept.forget()
    assert kept.kept is None
    assert process.is_alive
    process.end()


def test_a_process_ends_when_its_parent_is_gone() -> None:
    process = ChildProcess(answer_requests)
    process.ask(b"", seconds=SECONDS)
    process.connection.close()
    assert process.death(SECONDS).code == 0
    process.end()


def test_causes_of_death_are_told() -> None:
    assert death_of(-signal.SIGALRM).cause(1.5) == "took longer than 1.5 s"
    assert death_of(-signal.SIGSEGV).cause(1) == "crashed (SIGSEGV)"
    assert death_of(3, "no disk").cause(1) == "failed: no disk"
