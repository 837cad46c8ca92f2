"""Which steps an archive of an older version has to take."""

from nwx.engine.base import Migration, pending_migrations


def test_steps_that_were_not_taken_come_in_their_order() -> None:
    taken: list[str] = []
    steps: list[Migration[list[str]]] = [
        Migration(3, "third", lambda log: log.append("third")),
        Migration(1, "first", lambda log: log.append("first")),
        Migration(2, "second", lambda log: log.append("second")),
    ]
    for step in pending_migrations(steps, 1):
        step.apply(taken)
    assert taken == ["second", "third"]


def test_an_archive_of_now_has_no_steps_to_take() -> None:
    steps: list[Migration[list[str]]] = [Migration(1, "first", lambda log: log.append("first"))]
    assert pending_migrations(steps, 1) == ()
    assert [step.number for step in pending_migrations(steps, 0)] == [1]
