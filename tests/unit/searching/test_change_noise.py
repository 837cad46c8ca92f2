"""Changes of texts, and the noise of hosts among them."""

import pytest

from benchmarks.changes import measure_noise
from nwx.searching.change_noise import HostNoise, changed_share, text_changes

_TEXT = "Harbour office\nToday is Monday\nThe ferry sails at noon\nTicket 12 crowns"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("at noon", "at noon"),
        ("seen 2010-05-03", "seen 2015-01-09"),
        ("session a8f93bc12d034", "session ffe9011230bcd"),
        ("Monday, 3 May", "Monday, 17 May"),
    ],
)
def test_times_and_tokens_are_no_changes(old: str, new: str) -> None:
    assert text_changes(f"Harbour\n{old}\nend", f"Harbour\n{new}\nend") == []


def test_numbers_count_only_where_the_noise_is_learned() -> None:
    noise = HostNoise()
    dearer = text_changes(_TEXT, _TEXT.replace("12", "14"))
    assert noise.without(dearer) == []
    for day, other in ("Monday", "Tuesday"), ("Friday", "Sunday"), ("Sunday", "Monday"):
        changes = text_changes(_TEXT.replace("Monday", day), _TEXT.replace("Monday", other))
        noise.learn("a", changes)
        assert noise.without(changes) == []
    noise.learn("a", dearer)
    (change,) = noise.without(dearer)
    assert (change.old, change.new) == (("12",), ("14",))
    assert changed_share([change], _TEXT, _TEXT) == pytest.approx(2 / 26)


def test_what_changed_once_on_all_pages_is_no_noise() -> None:
    noise = HostNoise()
    renamed = text_changes("Museum\nHarbour", "Gallery\nHarbour")
    for url in "abcdefgh":
        noise.learn(url, renamed)
    assert noise.without(renamed) == renamed


def test_made_pairs_are_told_from_noise() -> None:
    recall, false_alarms, pairs = measure_noise(1)
    assert pairs == 500
    assert recall >= 0.95
    assert false_alarms <= 0.05
