"""Test which requests tell nothing about an archive."""

import time

import pytest

from nwx.quality.playback.request_rules import is_icon, is_volatile

PAGE = "20200101000000"  # 1577836800


@pytest.mark.parametrize(
    "query",
    [
        "_=1577836801234",
        "cb=123456",
        "x=0.7340192837465",
        "a=1&amp;rnd=99999",
        "1577836805",
        "t=1577836800.25",
    ],
)
def test_addresses_made_of_the_time_or_by_chance_are_volatile(query: str) -> None:
    assert is_volatile(f"http://a.example/counter.gif?{query}", PAGE)


def test_an_address_made_of_the_present_time_is_volatile() -> None:
    assert is_volatile(f"http://a.example/x?when={int(time.time())}123", PAGE)


@pytest.mark.parametrize(
    "query", ["", "v=1500000000", "ver=4.9.1", "id=123456", "cb=12", "page=2", "_", "size=1024x768"]
)
def test_versions_of_files_are_not(query: str) -> None:
    assert not is_volatile(f"http://a.example/style.css?{query}", PAGE)


def test_a_page_without_a_time_is_no_problem() -> None:
    assert not is_volatile("http://a.example/x?t=1577836800", "")


def test_browsers_ask_for_icons_by_themselves() -> None:
    assert is_icon("http://a.example/favicon.ico")
    assert not is_icon("http://a.example/icons/favicon.ico")
