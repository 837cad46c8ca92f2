"""The work of a question, and how it is stopped."""

import pytest

from nwx.engine.document_index import MAX_TERMS, Work, current_work, timed_out, working
from nwx.errors import QueryError, QuestionTimeoutError


def test_work_without_a_deadline_goes_on() -> None:
    work = Work()
    work.check()
    assert work.remaining_seconds() is None


def test_work_ends_at_its_deadline() -> None:
    work = Work(-1.0)
    assert work.remaining_seconds() == 0.0
    with pytest.raises(QuestionTimeoutError):
        work.check()


def test_work_ends_when_it_is_cancelled() -> None:
    work = Work(1000.0)
    work.check()
    work.cancel()
    with pytest.raises(QuestionTimeoutError, match="cancelled"):
        work.read_text()
    assert work.texts == 0


def test_terms_are_counted_up_to_a_limit() -> None:
    work = Work()
    work.visit_terms(MAX_TERMS - 1)
    assert work.terms_left() == 1
    with pytest.raises(QueryError, match="500,000"):
        work.visit_terms(2)
    work.visit_terms(1)
    assert work.terms_left() == 0


def test_the_error_names_the_seconds() -> None:
    assert "longer than 2.5 s" in str(timed_out(2.5))


def test_the_work_of_a_context_is_current_within_it() -> None:
    outer, inner = Work(), Work()
    with working(outer):
        with working(inner):
            assert current_work() is inner
        assert current_work() is outer
    assert current_work() is not outer
