"""Sessions, from login to their end."""

import pytest

from nwx.accounts.account_file import AccountFile
from nwx.accounts.session_store import (
    MOST_SESSION_SECONDS,
    SESSION_IDLE_SECONDS,
    Session,
    SessionStore,
    proof_of,
    session_name,
)


class _Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_lasts_in_every_worker_until_it_ends(file: AccountFile) -> None:
    token = SessionStore(file).begin("ada", b"proof")
    other = AccountFile(file.path)
    sessions = SessionStore(other)
    assert sessions.session(token) == Session("ada", b"proof")
    sessions.end(token)
    assert SessionStore(file).session(token) is None
    other.close()


def test_tokens_are_not_in_the_file(file: AccountFile) -> None:
    token = SessionStore(file).begin("ada", b"proof")
    with file.reading() as db:
        assert token not in "\n".join(db.iterdump())
    assert token != SessionStore(file).begin("ada", b"proof")


def test_an_unknown_token_opens_nothing(file: AccountFile) -> None:
    assert SessionStore(file).session("") is None
    assert SessionStore(file).session("\ud800") is None
    SessionStore(file).end("unknown")


def test_a_session_that_is_not_used_ends(file: AccountFile) -> None:
    clock = _Clock()
    sessions = SessionStore(file, clock)
    used, idle = sessions.begin("ada", b""), sessions.begin("ada", b"")
    clock.now += SESSION_IDLE_SECONDS - 1
    assert sessions.session(used)
    clock.now += 2
    assert sessions.session(idle) is None
    assert sessions.session(used)


@pytest.mark.parametrize("years", [1, 56, 73])
def test_a_session_of_the_future_has_ended(file: AccountFile, years: int) -> None:
    clock = _Clock()
    sessions = SessionStore(file, clock)
    first, other = sessions.begin("ada", b""), sessions.begin("ada", b"")
    clock.now -= 60  # as clocks are corrected
    assert sessions.session(first)
    clock.now -= years * 31_556_952
    assert sessions.session(first) is None
    sessions.begin("zoe", b"")
    clock.now += years * 31_556_952
    assert sessions.session(other) is None


def test_no_session_lasts_for_ever(file: AccountFile) -> None:
    clock = _Clock()
    sessions = SessionStore(file, clock)
    token = sessions.begin("ada", b"")
    for _ in range(MOST_SESSION_SECONDS // 36_000):
        assert sessions.session(token)
        clock.now += 36_000
    clock.now += 36_000
    assert sessions.session(token) is None
    sessions.begin("zoe", b"")
    with file.reading() as db:
        assert db.execute("SELECT count(*) FROM sessions").fetchone() == (1,)


def test_a_session_can_be_named_without_being_opened(file: AccountFile) -> None:
    sessions = SessionStore(file)
    token = sessions.begin("ada", b"proof")
    name = session_name(token)
    assert sessions.named_session(name) == Session("ada", b"proof")
    assert sessions.session(name) is None
    assert sessions.named_session(token) is None
    sessions.end(token)
    assert sessions.named_session(name) is None


def test_the_proof_tells_secrets_apart() -> None:
    assert proof_of("a") == proof_of("a") != proof_of("b")
