"""Questions answered by few threads, each with a deadline."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
from flask import Flask

from nwx.engine.document_index import current_work
from nwx.errors import EngineBusyError, QueryError, QuestionTimeoutError
from webapp.site import question_limits
from webapp.site.question_limits import USUAL_LIMITS, Export, QuestionPool, prepare_limits


class Held:
    """A question that is not answered until it is released."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.ended = threading.Event()

    def __call__(self) -> str:
        self.began.set()
        assert self.ended.wait(60)
        return "held"


@pytest.fixture
def held() -> Iterator[Held]:
    question = Held()
    yield question
    question.ended.set()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_limits, "_WAIT_SECONDS", 0.01)


def asked(pool: QuestionPool, question: Held) -> threading.Thread:
    """Ask in a thread that waits for the answer."""
    thread = threading.Thread(target=pool.answer, args=(question,))
    thread.start()
    assert question.began.wait(60)
    return thread


def raises() -> None:
    raise QueryError("no such field")


def test_answers_and_errors_come_back() -> None:
    pool = QuestionPool(2, 60)
    assert pool.answer(lambda: 7) == 7
    with pytest.raises(QueryError, match="no such field"):
        pool.answer(raises)
    assert [pool.answer(lambda: 1) for _ in range(5)] == [1] * 5
    pool.close()


def test_only_so_many_are_answered_at_once(held: Held) -> None:
    pool = QuestionPool(1, 60)
    thread = asked(pool, held)
    for _ in range(3):
        with pytest.raises(EngineBusyError, match="try again"):
            pool.answer(lambda: 1)
    held.ended.set()
    thread.join()
    assert pool.answer(lambda: 1) == 1
    pool.close()


def test_the_deadline_holds_where_nothing_can_be_interrupted(held: Held) -> None:
    pool = QuestionPool(1, 0.5)  # long enough to start on a busy machine
    with pytest.raises(QuestionTimeoutError, match=r"0\.5 s"):
        pool.answer(held)
    with pytest.raises(EngineBusyError):
        pool.answer(lambda: 1)
    pool.close()


def test_a_question_that_looks_at_its_deadline_stops_there() -> None:
    looks = 0

    def endless() -> None:
        nonlocal looks
        while True:
            looks += 1
            current_work().check()

    pool = QuestionPool(1, 0.05)
    with pytest.raises(QuestionTimeoutError):
        pool.answer(endless)
    seen = looks
    assert pool.answer(lambda: looks) == seen
    pool.close()


def test_a_question_that_nobody_waits_for_is_cancelled() -> None:
    stopped = threading.Event()

    def endless() -> None:
        try:
            while True:
                current_work().check()
        finally:
            stopped.set()

    pool = QuestionPool(1, 60)
    with pytest.raises(QuestionTimeoutError, match="no longer waits"):
        pool.answer(endless, is_wanted=lambda: False)
    assert stopped.wait(60)
    pool.close()


def test_an_answer_just_after_a_wait_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    result = Future.result

    def late(future: "Future[int]", timeout: float | None = None) -> int:
        found = result(future)
        if timeout is not None:
            raise TimeoutError
        return found

    monkeypatch.setattr(Future, "result", late)
    pool = QuestionPool(1, 60)
    assert pool.answer(lambda: 7) == 7
    pool.close()


def test_outside_of_a_pool_there_is_no_deadline() -> None:
    work = current_work()
    work.check()
    assert work.remaining_seconds() is None


def test_lines_of_exports_are_sent_together_and_the_first_at_once() -> None:
    app = Flask(__name__)
    prepare_limits(app, USUAL_LIMITS)
    lines = [f"{number}\n" for number in range(5_000)]
    with app.app_context():
        pieces = list(Export().pieces(lines))
    assert pieces[0] == lines[0] and "".join(pieces) == "".join(lines)
    assert len(pieces) < 20
