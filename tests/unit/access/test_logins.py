"""Sessions, from login to their end."""

import pytest

from nwx.access import logins
from nwx.access.account_store import AccountFile
from nwx.access.logins import (
    MOST_SESSION_SECONDS,
    OF_NAME_ANYWHERE,
    OF_ONE_ADDRESS,
    OF_ONE_NAME,
    SESSION_IDLE_SECONDS,
    AttemptCounts,
    LoginLimits,
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
    clock.now -= 60  # like a corrected clock
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


MINUTES = 15 * 60


@pytest.fixture
def clock() -> _Clock:
    """A clock set by tests."""
    return _Clock()


@pytest.fixture
def limits(file: AccountFile, clock: _Clock) -> LoginLimits:
    """Limits without earlier attempts."""
    return LoginLimits(file, clock)


def test_a_name_may_be_tried_so_often(limits: LoginLimits, clock: _Clock) -> None:
    for _ in range(OF_ONE_NAME.amount):
        assert limits.wait_seconds("ada", "192.0.2.1") == 0
    assert limits.wait_seconds("ADA", "192.0.2.1") == MINUTES
    assert limits.wait_seconds("zoe", "192.0.2.1") == 0
    assert limits.wait_seconds("ada", "192.0.2.2") == 0
    clock.now += MINUTES + 1
    assert limits.wait_seconds("ada", "192.0.2.1") == 0


def test_all_workers_count_together(limits: LoginLimits, file: AccountFile, clock: _Clock) -> None:
    other_file = AccountFile(file.path)
    other = LoginLimits(other_file, clock)
    for number in range(OF_ONE_NAME.amount):
        assert (limits, other)[number % 2].wait_seconds("ada", "192.0.2.1") == 0
    assert limits.wait_seconds("ada", "192.0.2.1") > 0
    assert other.wait_seconds("ada", "192.0.2.1") > 0
    other_file.close()


def test_an_address_may_try_so_many_names(limits: LoginLimits) -> None:
    for number in range(OF_ONE_ADDRESS.amount):
        assert limits.wait_seconds(f"name{number}", "192.0.2.1") == 0
    assert limits.wait_seconds("another", "192.0.2.1") == MINUTES
    assert limits.wait_seconds("another", "::ffff:192.0.2.1") == MINUTES
    assert limits.wait_seconds("another", "192.0.2.2") == 0


def test_many_addresses_may_try_a_name_so_often(limits: LoginLimits) -> None:
    for number in range(OF_NAME_ANYWHERE.amount):
        assert limits.wait_seconds("ada", f"10.0.{number}.1") == 0
    assert limits.wait_seconds("ada", "10.1.0.1") > 0


def test_a_network_of_ipv6_counts_as_one_address(limits: LoginLimits) -> None:
    for number in range(OF_ONE_NAME.amount):
        assert limits.wait_seconds("ada", f"2001:db8::{number:x}") == 0
    assert limits.wait_seconds("ada", "2001:db8::ffff") > 0
    assert limits.wait_seconds("ada", "2001:db8:1::1") == 0


def test_a_login_forgives_the_attempts_before(limits: LoginLimits) -> None:
    for _ in range(OF_ONE_NAME.amount):
        limits.wait_seconds("ada", "")
    limits.forgive("ada", "")
    assert limits.wait_seconds("ada", "") == 0


def test_logins_that_succeed_count_for_no_address(limits: LoginLimits, clock: _Clock) -> None:
    for number in range(2 * OF_ONE_ADDRESS.amount):
        assert limits.wait_seconds(f"reader-{number}", "192.0.2.1") == 0
        limits.forgive(f"reader-{number}", "192.0.2.1")
    for number in range(OF_NAME_ANYWHERE.amount + 1):
        assert limits.wait_seconds("ada", f"10.0.{number}.1") == 0
        limits.forgive("ada", f"10.0.{number}.1")
    limits.wait_seconds("ada", "192.0.2.2")
    clock.now += MINUTES + 1
    limits.forgive("ada", "192.0.2.2")  # its counts have expired
    for number in range(OF_ONE_ADDRESS.amount):
        assert limits.wait_seconds(f"thief-{number}", "192.0.2.2") == 0
    assert limits.wait_seconds("thief", "192.0.2.2") > 0


def test_what_was_typed_as_a_name_is_not_kept(limits: LoginLimits, file: AccountFile) -> None:
    limits.wait_seconds("hunter2 hunter2", "192.0.2.1")
    with file.reading() as db:
        assert "hunter2" not in "\n".join(db.iterdump())


def test_counts_that_have_expired_are_deleted(
    limits: LoginLimits, file: AccountFile, clock: _Clock
) -> None:
    limits.wait_seconds("ada", "192.0.2.1")
    clock.now += MINUTES + 1
    limits.wait_seconds("zoe", "192.0.2.2")
    with file.reading() as db:
        assert db.execute("SELECT count(*) FROM attempts").fetchone() == (3,)


def test_attempts_of_the_future_keep_nobody_out(limits: LoginLimits, clock: _Clock) -> None:
    now, clock.now = clock.now, 4_070_908_800.0  # 2099
    waits = [limits.wait_seconds("ada", "192.0.2.1") for _ in range(12)]
    assert 0 < max(waits) <= MINUTES
    clock.now = now
    assert limits.wait_seconds("ada", "192.0.2.1") == 0


def test_counts_as_the_library_wants_them(file: AccountFile, clock: _Clock) -> None:
    counts = AttemptCounts(file, clock)
    assert counts.check()
    assert counts.get("a") == 0
    assert counts.incr("a", 60) == 1
    assert counts.incr("a", 60, 2) == 3
    assert counts.get_expiry("a") == clock.now + 60
    counts.clear("a")
    assert counts.get_expiry("a") == clock.now
    counts.incr("b", 60)
    assert counts.reset() == 1
    assert logins.AttemptCounts.STORAGE_SCHEME is None
